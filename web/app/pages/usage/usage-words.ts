// The words of the page of usage.

import { table } from "../../language";

export const words = table(
  {
    month: "Month", before: "Month before", after: "Month after", download: "Download as CSV", failed: "The usage cannot be read now.",
    nothing: "Nothing was used in this month.", turns: (count: string) => `${count} answers`, read: "Tokens read", written: "Tokens written", cost: "Cost",
    answers: "Answers", day: "Day", model: "Model", chat: "Chat", unknown: "unknown", atLeast: (cost: string) => `at least ${cost}`,
    unpriced: (count: string) => `The price of ${count} of these is not known.`,
    byDay: "By day", byModel: "By model", byChat: "Chats that cost most", beside: "Beside answers", limits: "Limits", limit: "Limit", left: "Left", of: "In all", resets: "Begins anew",
    untitled: "Untitled chat", otherChat: "A chat of somebody else", deleted: "Chats that are deleted by now", work: "What for",
    purposes: { compression: "Compressing long chats", summary: "Summaries", memory: "Remembering", memory_control: "Deciding what to recall",
      artifact_summary: "Describing files", title: "Titles" },
    since: (month: string) => `Known since ${month}. Each day is one of your time zone; what is done beside answers counts to the day of UTC.`,
  },
  {
    month: "月份", before: "上个月", after: "下个月", download: "下载 CSV", failed: "现在无法读取用量。",
    nothing: "这个月没有用量。", turns: (count) => `${count} 个回答`, read: "读取的 token", written: "写出的 token", cost: "费用",
    answers: "回答", day: "日期", model: "模型", chat: "会话", unknown: "未知", atLeast: (cost) => `至少 ${cost}`,
    unpriced: (count) => `其中 ${count} 个的价格未知。`,
    byDay: "按日", byModel: "按模型", byChat: "费用最高的会话", beside: "回答以外", limits: "限额", limit: "限额", left: "剩余", of: "总量", resets: "重新计算时间",
    untitled: "无标题会话", otherChat: "别人的会话", deleted: "已删除的会话", work: "用途",
    purposes: { compression: "压缩长会话", summary: "摘要", memory: "记忆", memory_control: "判断回忆什么", artifact_summary: "描述文件", title: "标题" },
    since: (month) => `自 ${month} 起有记录。日期按你的时区计算；回答以外的用量按 UTC 日期计算。`,
  },
  {
    month: "月份", before: "上個月", after: "下個月", download: "下載 CSV", failed: "現在無法讀取用量。",
    nothing: "這個月沒有用量。", turns: (count) => `${count} 個回答`, read: "讀取的 token", written: "寫出的 token", cost: "費用",
    answers: "回答", day: "日期", model: "模型", chat: "對話", unknown: "未知", atLeast: (cost) => `至少 ${cost}`,
    unpriced: (count) => `其中 ${count} 個的價格未知。`,
    byDay: "按日", byModel: "按模型", byChat: "費用最高的對話", beside: "回答以外", limits: "限額", limit: "限額", left: "剩餘", of: "總量", resets: "重新計算時間",
    untitled: "無標題對話", otherChat: "別人的對話", deleted: "已刪除的對話", work: "用途",
    purposes: { compression: "壓縮長對話", summary: "摘要", memory: "記憶", memory_control: "判斷回憶什麼", artifact_summary: "描述檔案", title: "標題" },
    since: (month) => `自 ${month} 起有記錄。日期按你的時區計算；回答以外的用量按 UTC 日期計算。`,
  },
);
