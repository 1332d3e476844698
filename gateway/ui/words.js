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
  thinking: "Thinking", waiting: "Thinking…", sources: "sources", copy: "Copy", copied: "Copied",
  again: "Try again", mayHelp: "Trying again may help.", notSent: "Not sent.",
  busy: "An answer is still on its way. Stop it or wait for it.",
  gone: "This chat is no longer there.", offline: "No connection, trying again…",
  cancelled: "Stopped", failed: "Failed", limit_reached: "Stopped at a limit", interrupted: "Interrupted by a restart",
  finished: "The answer is complete.", tokens: "tokens", pieces: "pieces",
  status: { ok: "done", error: "failed", denied: "denied", cancelled: "stopped", timeout: "timed out",
    unknown_outcome: "outcome unknown" },
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
  thinking: "思考过程", waiting: "思考中…", sources: "条来源", copy: "复制", copied: "已复制",
  again: "重试", mayHelp: "可以稍后重试。", notSent: "未能发送。",
  busy: "上一个回答还在进行，请先停止或等待完成。",
  gone: "这个会话已不存在。", offline: "连接已断开，正在重连…",
  cancelled: "已停止", failed: "失败", limit_reached: "已达上限而停止", interrupted: "因服务重启而中断",
  finished: "回答已完成。", tokens: "个 token", pieces: "段",
  status: { ok: "完成", error: "失败", denied: "已拒绝", cancelled: "已停止", timeout: "超时", unknown_outcome: "结果未知" },
  examples: ["断线后怎么恢复事件流？", "17*23 等于多少？", "现在几点了？"],
};

export const language = navigator.language.toLowerCase().startsWith("zh") ? "zh-CN" : "en";
export const words = language === "en" ? english : chinese;

export function translatePage() {
  document.documentElement.lang = language;
  for (const element of document.querySelectorAll("[data-word]")) {
    element.textContent = words[element.dataset.word];
  }
}
