// The words of the page in the reader's language.

const english = {
  chats: "Chats", newChat: "New chat", events: "Events", send: "Send", stop: "Stop", stopping: "Stopping…",
  welcome: "What would you like to know?",
  welcomeHint: "Every step of the answer is an event. Watch them on the side, reload the page in the middle: nothing is lost.",
  keys: "Enter sends, Shift+Enter starts a new line",
  placeholder: "Ask something…",
  noEvents: "What happens in a turn appears here as it happens.",
  noSessions: "No chats yet", untitled: "Untitled chat",
  keyTitle: "An API key is needed", keyHint: "It stays in this tab and is forgotten when the tab closes.",
  keySave: "Continue", keyWrong: "That key is not known. Please try another.",
  demo: "A demo model answers: it is deterministic and needs no key",
  demoExample: "Note that the door code is 4711.",
  thinking: "Thinking", waiting: "Thinking…", sources: "sources", copy: "Copy", copied: "Copied",
  again: "Try again", mayHelp: "Trying again may help.", notSent: "Not sent.",
  busy: "An answer is still on its way. Stop it or wait for it.",
  gone: "This chat is no longer there.", offline: "No connection, trying again…",
  cancelled: "Stopped", failed: "Failed", limit_reached: "Stopped at a limit", interrupted: "Interrupted by a restart",
  finished: "The answer is complete.", tokens: "tokens", pieces: "pieces",
  status: { ok: "done", error: "failed", denied: "denied", cancelled: "stopped", timeout: "timed out",
    unknown_outcome: "outcome unknown" },
  searchChats: "Search what was said", notFound: "Nothing found",
  thisChat: "This chat", compressNow: "Compress now", exportChat: "Export", importChat: "Import a file…",
  archiveChat: "Archive", versions: "Undo: what the model sees", importFile: "Exported file", working: "One moment…",
  everything: "Every message, word for word", version: "Version {version}: summary of messages 1–{last}",
  activated: "Version {version} is in force from the next message on.", activatedAll: "The model sees every message again.",
  compressing: "Compressing older messages…", compressed: "Older messages archived", notCompressed: "Not compressed, nothing was changed.",
  range: "Messages {first}–{last}", archivedRange: "Messages {first}–{last} archived", fewerTokens: "{before} → {after} tokens",
  comma: ", ", asFile: "as a file", showHere: "Show here",
  earlier: "Earlier messages (summary)", earlierHint: "The model is sent this summary. The messages themselves were archived, word for word:",
  exported: "The file is in your downloads.", imported: "Imported: {title}",
  archivedWhole: "Archived. Everything can be read as before.", archivedAlready: "There was nothing new to archive.",
  replay: "Replay", stopReplay: "Stop replay", speed: "Speed", original: "1×", tenfold: "10×", fastest: "Max",
  replaying: "Replaying…", replayed: "That was the whole chat.",
  needsApproval: "{name} needs your approval", approve: "Approve", deny: "Deny", editArguments: "Edit arguments",
  argumentsAsJson: "Arguments (JSON)", howLong: "Holds", whyNot: "Why not", timeLeft: "{time} left", timeIsUp: "Time is up",
  scopes: { once: "only this time", session: "in this chat", always: "always" },
  scopesOf: { session: "for this chat", always: "for good" },
  approvedBy: "Approved by {by}", deniedBy: "Denied by {by}", withEdits: "with edited arguments",
  deciders: { policy: "Denied by the tool policy", grant: "Approved before", expiry: "Nobody approved it in time" },
  askedByRule: "The tool policy says so: {rule}", hasEffects: "It may change something.",
  decidedAlready: "This was decided already, or its time is over.",
  rounded: "Long numbers are shown rounded by this browser. The tool gets them as they are; a newer browser can edit them.",
  notJson: "This is not JSON: {reason}", notAnObject: "The arguments must be a JSON object: {…}",
  skillRead: "Read the skill {name}", skillRefused: "{name}: {reason}", steps: "Steps: {count}",
  skills: "Skills", kind: "Kind", everyKind: "Every kind", functionSkills: "Functions", writtenSkills: "Written", mcpSkills: "MCP",
  skillTypes: { function: "function", markdown: "written", mcp: "MCP" },
  refresh: "Refresh", noSkills: "There are none", cannotSwitch: "This one cannot be switched off.", warnings: "Warnings",
  grants: "Allowed without asking", takeBack: "Ask again", takeBackOf: "Ask again before {tool} runs", everyChat: "in every chat",
  someChats: "in chats: {count}",
  problems: {
    unreachable: "The server cannot be reached.",
    nothing_to_compress: "There is nothing to compress yet.", empty: "There is nothing to compress: the chat is empty.",
    newest_turn_only: "There is nothing to compress yet: the newest exchange always stays word for word.",
    too_little: "There is too little to compress yet: about {covered_tokens} tokens, and fewer than {needed_tokens} are not worth a summary.",
    compression_in_progress: "A compression is running already.", compression_conflict: "Another compression was faster. Have a look at the versions.",
    summary_empty: "The model wrote no summary.", summary_invalid: "What the model wrote is no summary.",
    summary_too_long: "The summary would have been longer than what it replaces.", summary_refused: "The model refused to write a summary.",
    summary_truncated: "The summary broke off.", turn_in_progress: "An answer is still on its way. Stop it or wait for it.",
    archive_conflict: "The chat is being archived, or was changed meanwhile. Please try again.",
    archive_damaged: "An archive of this chat is missing or damaged.", bad_import: "This file is no sound export: {reason}",
    payload_too_large: "The file is too large.", conflict: "This chat is already here.", queue_full: "Too much is going on. Please try again in a moment.",
    draining: "The server is restarting. Please try again in a moment.", session_not_found: "This chat is no longer there.",
    forbidden: "You may not do this here.",
  },
  examples: ["How do I resume a stream?", "What is 17*23?", "What time is it now?"],
};

const chinese = {
  chats: "会话", newChat: "新会话", events: "事件", send: "发送", stop: "停止", stopping: "正在停止…",
  welcome: "想了解什么？",
  welcomeHint: "回答的每一步都是一个事件，可在旁边实时查看。中途刷新页面也不会丢失任何内容。",
  keys: "Enter 发送，Shift+Enter 换行",
  placeholder: "输入你的问题…",
  noEvents: "每一轮对话中发生的事情会实时显示在这里。",
  noSessions: "还没有会话", untitled: "未命名会话",
  keyTitle: "需要 API 密钥", keyHint: "密钥只保存在当前标签页，关闭后即被清除。",
  keySave: "继续", keyWrong: "密钥无效，请换一个。",
  demo: "当前由演示模型回答：结果固定，无需密钥",
  demoExample: "记一下：门禁密码是 4711",
  thinking: "思考过程", waiting: "思考中…", sources: "条来源", copy: "复制", copied: "已复制",
  again: "重试", mayHelp: "可以稍后重试。", notSent: "未能发送。",
  busy: "上一个回答还在进行，请先停止或等待完成。",
  gone: "这个会话已不存在。", offline: "连接已断开，正在重连…",
  cancelled: "已停止", failed: "失败", limit_reached: "已达上限而停止", interrupted: "因服务重启而中断",
  finished: "回答已完成。", tokens: "个 token", pieces: "段",
  status: { ok: "完成", error: "失败", denied: "已拒绝", cancelled: "已停止", timeout: "超时", unknown_outcome: "结果未知" },
  searchChats: "搜索聊天内容", notFound: "没有找到",
  thisChat: "本会话", compressNow: "立即压缩", exportChat: "导出", importChat: "导入文件…",
  archiveChat: "归档", versions: "撤销：模型看到的内容", importFile: "导出的文件", working: "请稍候…",
  everything: "全部消息原文", version: "版本 {version}：第 1–{last} 条消息的摘要",
  activated: "从下一条消息起使用版本 {version}。", activatedAll: "模型将重新看到全部消息。",
  compressing: "正在压缩较早的消息…", compressed: "较早的消息已归档", notCompressed: "未能压缩，内容没有任何改动。",
  range: "第 {first}–{last} 条消息", archivedRange: "第 {first}–{last} 条消息已归档", fewerTokens: "{before} → {after} 个 token",
  comma: "，", asFile: "（下载文件）", showHere: "在此显示",
  earlier: "较早的消息（摘要）", earlierHint: "发送给模型的是这份摘要，原消息已逐字归档：",
  exported: "文件已保存到下载目录。", imported: "已导入：{title}",
  archivedWhole: "已归档，所有内容仍可照常查看。", archivedAlready: "没有新的内容需要归档。",
  replay: "回放", stopReplay: "停止回放", speed: "速度", original: "1 倍", tenfold: "10 倍", fastest: "最快",
  replaying: "正在回放…", replayed: "整个会话已回放完毕。",
  needsApproval: "{name} 需要你的批准", approve: "批准", deny: "拒绝", editArguments: "修改参数",
  argumentsAsJson: "参数（JSON）", howLong: "有效范围", whyNot: "拒绝理由", timeLeft: "剩余 {time}", timeIsUp: "已超时",
  scopes: { once: "仅此一次", session: "本会话内", always: "始终允许" },
  scopesOf: { session: "本会话内有效", always: "始终有效" },
  approvedBy: "{by} 已批准", deniedBy: "{by} 已拒绝", withEdits: "参数已修改",
  deciders: { policy: "工具策略不允许", grant: "之前已批准", expiry: "超时未批准" },
  askedByRule: "工具策略要求批准：{rule}", hasEffects: "它可能会更改某些内容。",
  decidedAlready: "已有决定，或已超过时限。",
  rounded: "此浏览器会对很长的数字取近似值，工具收到的仍是原值。如需修改，请使用更新的浏览器。",
  notJson: "不是有效的 JSON：{reason}", notAnObject: "参数必须是一个 JSON 对象：{…}",
  skillRead: "已阅读技能 {name}", skillRefused: "{name}：{reason}", steps: "{count} 个步骤",
  skills: "技能", kind: "类型", everyKind: "全部类型", functionSkills: "函数", writtenSkills: "文档", mcpSkills: "MCP",
  skillTypes: { function: "函数", markdown: "文档", mcp: "MCP" },
  refresh: "刷新", noSkills: "没有技能", cannotSwitch: "这一项不能关闭。", warnings: "警告",
  grants: "无需询问即可运行", takeBack: "收回", takeBackOf: "收回 {tool} 的许可", everyChat: "所有会话", someChats: "{count} 个会话",
  problems: {
    unreachable: "无法连接服务器。",
    nothing_to_compress: "目前没有可压缩的内容。", empty: "会话为空，没有可压缩的内容。",
    newest_turn_only: "目前没有可压缩的内容：最新一轮对话始终保留原文。",
    too_little: "可压缩的内容太少：约 {covered_tokens} 个 token，少于 {needed_tokens} 个时不值得做摘要。",
    compression_in_progress: "正在压缩中。", compression_conflict: "另一次压缩先完成了，请查看版本列表。",
    summary_empty: "模型没有写出摘要。", summary_invalid: "模型写出的内容不是有效的摘要。",
    summary_too_long: "摘要比它要替代的内容还长。", summary_refused: "模型拒绝写摘要。",
    summary_truncated: "摘要没有写完就中断了。", turn_in_progress: "上一个回答还在进行，请先停止或等待完成。",
    archive_conflict: "会话正在归档，或内容刚有变化，请重试。",
    archive_damaged: "这个会话的归档文件缺失或已损坏。", bad_import: "这不是完好的导出文件：{reason}",
    payload_too_large: "文件太大。", conflict: "这个会话已经存在。", queue_full: "当前操作过多，请稍后再试。",
    draining: "服务器正在重启，请稍后再试。", session_not_found: "这个会话已不存在。",
    forbidden: "你没有权限执行此操作。",
  },
  examples: ["断线后怎么恢复事件流？", "17*23 等于多少？", "现在几点了？"],
};

export const language = navigator.language.toLowerCase().startsWith("zh") ? "zh-CN" : "en";
export const words = language === "en" ? english : chinese;

// `text` with each {name} replaced by its value.
export function fill(text, values) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

// What went wrong, for people: by the server's code where there are words for it, else as the server says it.
export function inWords({ code, message, details = {} }) {
  const name = [details.reason, code].find((each) => Object.hasOwn(words.problems, each ?? ""));
  return name ? fill(words.problems[name], { reason: message, ...details }) : message;
}

export function translatePage() {
  document.documentElement.lang = language;
  for (const element of document.querySelectorAll("[data-word]")) {
    element.textContent = words[element.dataset.word];
  }
  for (const element of document.querySelectorAll("[data-label]")) {
    element.setAttribute("aria-label", words[element.dataset.label]);
  }
}
