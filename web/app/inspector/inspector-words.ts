// The words of the inspector.

import { table } from "../language";

export const words = table(
  {
    title: "Inspector", close: "Close the inspector", turn: "Turn", newest: "The newest turn", noTurn: "Nothing has happened here yet.",
    tabs: { timeline: "Timeline", prompt: "Prompt", usage: "Usage", events: "Events", replay: "Replay" },
    unknown: "unknown", atLeast: (cost: string) => `at least ${cost}`, none: "none",

    kinds: {
      queue: "Waited in the queue", model: "Model call", tool: "Tool", approval: "Approval", step: "Step", retrieval: "Looked up",
      compression: "Compression", mark: "Event",
    },
    segments: { queued: "In the queue", answering: "Until the first piece", writing: "Writing", deciding: "Waiting for a person", running: "Running", pausing: "Pause before the next attempt" },
    rows: "What took time in this turn", took: "took", startsAt: "from", running: "still running", withoutWaits: "Leave out what waited for people",
    leftOut: (time: string) => `${time} of waiting are left out`, attempt: (number: string) => `attempt ${number}`,
    more: (number: string) => `Show more (${number})`, superseded: "replaced by another attempt", cut: "cut off", ended: "ended",
    trace: "Trace", openTrace: "Open the trace",
    save: "Save",
    fields: {
      model: "Model", reason: "Reason", stop: "Stop reason", duration: "Duration", cost: "Cost", answerId: "Id of the answer",
      arguments: "Arguments", edited: "Edited arguments", result: "Result", status: "Status", effect: "Effect", artifact: "Kept aside as", callId: "Id of the call", runsOn: "Runs on",
      decision: "Decision", by: "By", scope: "For", waited: "Waited", input: "Input", output: "Output", error: "Error", query: "Looked for", source: "In",
      tokens: "Tokens", notes: "Why", trigger: "Trigger", covers: "Messages", before: "Before", after: "After", version: "Version",
    },
    found: "What was found", title2: "Title", score: "Score", byWords: "By words", byMeaning: "By meaning", freshness: "Freshness", shown: "Shown",
    forms: { full: "in full", passage: "a passage", summary: "its summary" }, toldBefore: "already in context",
    omitted: (number: string) => `Left out: ${number}`, omissions: { budget: "no room left", similar: "says the same as another", too_long: "too long: its summary alone is shown" },
    degraded: "A part of the search did not work.",

    context: "Context", ofWindow: (used: string, window: string) => `${used} of ${window} tokens`, used: (used: string) => `${used} tokens`, compressAt: (at: string) => `Compressed from ${at} on`,
    sent: "What the model was sent", part: "Part", layer: "Layer", size: "Tokens", cutFrom: (before: string) => `cut from ${before}`,
    change: "Since the turn before", changes: { same: "Unchanged: the provider's cache holds", changed: "Changed", added: "New", removed: "Taken away", unknown: "There is nothing to compare with.", beside: "No component changed: it was a tool, the memories, or what is carried of former sessions." },
    generation: "A new prompt generation began", prefix: "Prefix", cachePrefix: "Cache", colon: ": ", stop: ". ", cacheRead: "read", cacheWritten: "written", notCached: "not cached",
    tools: "Tools", messages: "Messages", summary: "Summary of earlier messages", carriedOver: "Earlier turns", thisTurn: "This turn", memoriesIn: "Memories for this message", instructions: "Instructions of the client",
    asSent: "This is what was sent, byte for byte.", notAsSent: "The prompt has changed since this turn. Of parts that are no longer the same only the digest is known.", digestOnly: "The text is not known any more.",
    estimated: "Sizes are estimates; what the endpoint counted is under Usage.", loading: "Loading…", failed: "It could not be loaded.", again: "Try again", recordingOnly: "Of a recording only digests are known.",
    showText: "Show the text", roles: { user: "User", assistant: "Assistant" },

    classes: { input: "Input", cacheRead: "From cache", cacheWrite: "To cache", output: "Output" }, total: "Total", call: "Call", ofTurn: "This turn", ofSession: "This chat", ofReader: "You, 30 days",
    unreported: (number: string) => `${number} calls did not report what they used: these figures are a lower bound.`, ofTurns: (number: string) => `${number} turns`, partOnly: "Older turns are not counted yet.", countAll: "Count all",
    perCall: "Tokens and cost of each call", rated: "Rated", ratings: { up: "good", down: "bad" },

    search: "Search events", types: "Types", allTypes: "All types", onlyTurn: "Only this turn", events: "Events", number: "No.", time: "Time", type: "Type",
    found2: (found: string, all: string) => `${found} of ${all}`, searching: "searching…", loadOlder: "Load older events", pieces: (number: string) => `${number} pieces`, nothingFound: "No event is like this.", event: "The chosen event", choose: "Choose an event to see all of it.",

    play: "Play", pause: "Pause", start: "Replay this chat", leave: "End the replay", speed: "Speed", position: "Position", back: "One event back", forward: "One event on", turnBack: "One turn back", turnForward: "One turn on",
    eventOf: (number: string, all: string) => `Event ${number} of ${all}`, loadingEvents: (number: string, all: string) => `${number} of ${all} events loaded`,
    drop: "Or drop an exported chat (.jsonl) here. It stays in this browser.", chooseFile: "Open a file…", recording: "Recording",
    badFile: { no_events: "The file has no events.", not_json: "It is not JSON", all_chats: "The file holds all chats: import it in the settings", no_event: "It is neither an exported chat nor an event", order: "The numbers of the events are not in order", cut_off: "The file is cut off", export_failed: "The export failed when it was made" },
    atLine: (problem: string, line: string) => `${problem} (line ${line}).`,
  },
  {
    title: "检查器", close: "关闭检查器", turn: "轮次", newest: "最新一轮", noTurn: "这里还没有发生任何事。",
    tabs: { timeline: "时间线", prompt: "提示词", usage: "用量", events: "事件", replay: "回放" },
    unknown: "未知", atLeast: (cost) => `至少 ${cost}`, none: "无",

    kinds: { queue: "排队等待", model: "模型调用", tool: "工具", approval: "审批", step: "步骤", retrieval: "检索", compression: "压缩", mark: "事件" },
    segments: { queued: "排队中", answering: "等待首个片段", writing: "输出中", deciding: "等待人工决定", running: "运行中", pausing: "重试前的停顿" },
    rows: "本轮的耗时", took: "耗时", startsAt: "开始于", running: "仍在进行", withoutWaits: "略去等待人工的时间",
    leftOut: (time) => `已略去 ${time} 的等待`, attempt: (number) => `第 ${number} 次尝试`,
    more: (number) => `显示更多（${number}）`, superseded: "已被另一次尝试取代", cut: "被中断", ended: "已结束",
    trace: "追踪", openTrace: "打开追踪",
    save: "保存",
    fields: {
      model: "模型", reason: "原因", stop: "停止原因", duration: "时长", cost: "费用", answerId: "回答的 id",
      arguments: "参数", edited: "修改后的参数", result: "结果", status: "状态", effect: "影响", artifact: "另存为", callId: "调用的 id", runsOn: "运行于",
      decision: "决定", by: "由", scope: "有效范围", waited: "等待了", input: "输入", output: "输出", error: "错误", query: "查询", source: "来源",
      tokens: "token", notes: "理由", trigger: "触发方式", covers: "消息", before: "之前", after: "之后", version: "版本",
    },
    found: "检索结果", title2: "标题", score: "得分", byWords: "按词名次", byMeaning: "按语义名次", freshness: "新近度", shown: "呈现方式",
    forms: { full: "全文", passage: "片段", summary: "摘要" }, toldBefore: "此前已知",
    omitted: (number) => `未采用：${number}`, omissions: { budget: "没有空间", similar: "与另一条相同", too_long: "过长：只呈现摘要" },
    degraded: "部分检索未能进行。",

    context: "上下文", ofWindow: (used, window) => `${used} / ${window} token`, used: (used) => `${used} token`, compressAt: (at) => `达到 ${at} 时压缩`,
    sent: "发送给模型的内容", part: "部分", layer: "层", size: "token", cutFrom: (before) => `由 ${before} 截短`,
    change: "与上一轮相比", changes: { same: "没有变化：服务方的缓存仍然有效", changed: "已更改", added: "新增", removed: "已移除", unknown: "没有可比较的内容。", beside: "组件没有变化：变化的是工具、记忆或从以前会话带来的内容。" },
    generation: "开始了新的提示词世代", prefix: "前缀", cachePrefix: "缓存", colon: "：", stop: "。", cacheRead: "读取", cacheWritten: "写入", notCached: "未缓存",
    tools: "工具", messages: "消息", summary: "早先消息的摘要", carriedOver: "以前的轮次", thisTurn: "本轮", memoriesIn: "为此消息检索的记忆", instructions: "客户端的指令",
    asSent: "与当时发送的内容逐字节一致。", notAsSent: "自这一轮以来提示词已有变化。对于不再相同的部分，只知道其摘要值。", digestOnly: "文本已无从得知。",
    estimated: "大小为估计值；服务端的计数见“用量”。", loading: "正在加载…", failed: "无法加载。", again: "重试", recordingOnly: "录制文件中只有摘要值。",
    showText: "显示文本", roles: { user: "用户", assistant: "助手" },

    classes: { input: "输入", cacheRead: "读自缓存", cacheWrite: "写入缓存", output: "输出" }, total: "合计", call: "调用", ofTurn: "本轮", ofSession: "本会话", ofReader: "你，近 30 天",
    unreported: (number) => `有 ${number} 次调用没有报告用量：以上数字是下限。`, ofTurns: (number) => `${number} 轮`, partOnly: "更早的轮次尚未计入。", countAll: "全部计入",
    perCall: "每次调用的 token 与费用", rated: "评价", ratings: { up: "好", down: "不好" },

    search: "搜索事件", types: "类型", allTypes: "所有类型", onlyTurn: "仅本轮", events: "事件", number: "序号", time: "时间", type: "类型",
    found2: (found, all) => `${found} / ${all}`, searching: "正在搜索…", loadOlder: "加载更早的事件", pieces: (number) => `${number} 个片段`, nothingFound: "没有符合的事件。", event: "所选事件", choose: "选择一个事件以查看全部内容。",

    play: "播放", pause: "暂停", start: "回放本会话", leave: "结束回放", speed: "速度", position: "位置", back: "后退一个事件", forward: "前进一个事件", turnBack: "后退一轮", turnForward: "前进一轮",
    eventOf: (number, all) => `事件 ${number} / ${all}`, loadingEvents: (number, all) => `已加载 ${number} / ${all} 个事件`,
    drop: "或将导出的会话（.jsonl）拖放到此处。文件只留在此浏览器中。", chooseFile: "打开文件…", recording: "录制",
    badFile: { no_events: "文件中没有事件。", not_json: "不是 JSON", all_chats: "文件中是全部会话：请在设置中导入", no_event: "既不是导出的会话，也不是事件", order: "事件的序号次序不对", cut_off: "文件不完整", export_failed: "导出时已失败" },
    atLine: (problem, line) => `${problem}（第 ${line} 行）。`,
  },
  {
    title: "檢查器", close: "關閉檢查器", turn: "輪次", newest: "最新一輪", noTurn: "這裡還沒有發生任何事。",
    tabs: { timeline: "時間軸", prompt: "提示詞", usage: "用量", events: "事件", replay: "重播" },
    unknown: "未知", atLeast: (cost) => `至少 ${cost}`, none: "無",

    kinds: { queue: "排隊等候", model: "模型呼叫", tool: "工具", approval: "核准", step: "步驟", retrieval: "檢索", compression: "壓縮", mark: "事件" },
    segments: { queued: "排隊中", answering: "等待首個片段", writing: "輸出中", deciding: "等待人工決定", running: "執行中", pausing: "重試前的停頓" },
    rows: "本輪的耗時", took: "耗時", startsAt: "開始於", running: "仍在進行", withoutWaits: "略去等待人工的時間",
    leftOut: (time) => `已略去 ${time} 的等待`, attempt: (number) => `第 ${number} 次嘗試`,
    more: (number) => `顯示更多（${number}）`, superseded: "已被另一次嘗試取代", cut: "被中斷", ended: "已結束",
    trace: "追蹤", openTrace: "開啟追蹤",
    save: "儲存",
    fields: {
      model: "模型", reason: "原因", stop: "停止原因", duration: "時長", cost: "費用", answerId: "回答的 id",
      arguments: "引數", edited: "修改後的引數", result: "結果", status: "狀態", effect: "影響", artifact: "另存為", callId: "呼叫的 id", runsOn: "執行於",
      decision: "決定", by: "由", scope: "有效範圍", waited: "等待了", input: "輸入", output: "輸出", error: "錯誤", query: "查詢", source: "來源",
      tokens: "token", notes: "理由", trigger: "觸發方式", covers: "訊息", before: "之前", after: "之後", version: "版本",
    },
    found: "檢索結果", title2: "標題", score: "分數", byWords: "依詞名次", byMeaning: "依語意名次", freshness: "新近度", shown: "呈現方式",
    forms: { full: "全文", passage: "片段", summary: "摘要" }, toldBefore: "先前已知",
    omitted: (number) => `未採用：${number}`, omissions: { budget: "沒有空間", similar: "與另一條相同", too_long: "過長：只呈現摘要" },
    degraded: "部分檢索未能進行。",

    context: "上下文", ofWindow: (used, window) => `${used} / ${window} token`, used: (used) => `${used} token`, compressAt: (at) => `達到 ${at} 時壓縮`,
    sent: "傳送給模型的內容", part: "部分", layer: "層", size: "token", cutFrom: (before) => `由 ${before} 截短`,
    change: "與上一輪相比", changes: { same: "沒有變化：服務方的快取仍然有效", changed: "已變更", added: "新增", removed: "已移除", unknown: "沒有可比較的內容。", beside: "元件沒有變化：變化的是工具、記憶或從以前對話帶來的內容。" },
    generation: "開始了新的提示詞世代", prefix: "前綴", cachePrefix: "快取", colon: "：", stop: "。", cacheRead: "讀取", cacheWritten: "寫入", notCached: "未快取",
    tools: "工具", messages: "訊息", summary: "較早訊息的摘要", carriedOver: "以前的輪次", thisTurn: "本輪", memoriesIn: "為此訊息檢索的記憶", instructions: "用戶端的指示",
    asSent: "與當時傳送的內容逐位元組一致。", notAsSent: "自這一輪以來提示詞已有變化。對於不再相同的部分，只知道其摘要值。", digestOnly: "文字已無從得知。",
    estimated: "大小為估計值；服務端的計數見「用量」。", loading: "正在載入…", failed: "無法載入。", again: "重試", recordingOnly: "錄製檔中只有摘要值。",
    showText: "顯示文字", roles: { user: "使用者", assistant: "助理" },

    classes: { input: "輸入", cacheRead: "讀自快取", cacheWrite: "寫入快取", output: "輸出" }, total: "合計", call: "呼叫", ofTurn: "本輪", ofSession: "本對話", ofReader: "你，近 30 天",
    unreported: (number) => `有 ${number} 次呼叫沒有回報用量：以上數字是下限。`, ofTurns: (number) => `${number} 輪`, partOnly: "更早的輪次尚未計入。", countAll: "全部計入",
    perCall: "每次呼叫的 token 與費用", rated: "評價", ratings: { up: "好", down: "不好" },

    search: "搜尋事件", types: "類型", allTypes: "所有類型", onlyTurn: "僅本輪", events: "事件", number: "序號", time: "時間", type: "類型",
    found2: (found, all) => `${found} / ${all}`, searching: "正在搜尋…", loadOlder: "載入更早的事件", pieces: (number) => `${number} 個片段`, nothingFound: "沒有符合的事件。", event: "所選事件", choose: "選擇一個事件以檢視全部內容。",

    play: "播放", pause: "暫停", start: "重播本對話", leave: "結束重播", speed: "速度", position: "位置", back: "後退一個事件", forward: "前進一個事件", turnBack: "後退一輪", turnForward: "前進一輪",
    eventOf: (number, all) => `事件 ${number} / ${all}`, loadingEvents: (number, all) => `已載入 ${number} / ${all} 個事件`,
    drop: "或將匯出的對話（.jsonl）拖放到此處。檔案只留在此瀏覽器中。", chooseFile: "開啟檔案…", recording: "錄製",
    badFile: { no_events: "檔案中沒有事件。", not_json: "不是 JSON", all_chats: "檔案中是全部對話：請在設定中匯入", no_event: "既不是匯出的對話，也不是事件", order: "事件的序號次序不對", cut_off: "檔案不完整", export_failed: "匯出時已失敗" },
    atLine: (problem, line) => `${problem}（第 ${line} 行）。`,
  },
);
