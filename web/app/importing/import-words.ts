// The words of an import of chats from other products.

import { table } from "../language";

export const words = table(
  {
    title: "Import chats", looking: "Looking at what is in the file…", find: "Find in these chats",
    all: "Choose all", none: "Choose none", there: "imported before", messages: (count: number) => count === 1 ? "1 message" : `${count} messages`,
    chosen: (count: number) => count === 1 ? "Import 1 chat" : `Import ${count} chats`, nothing: "Choose chats first", cancel: "Cancel", close: "Close",
    importing: (done: number, of: number) => `${done} of ${of} imported`, untitled: "Untitled chat", more: (count: number) => `and ${count} more`,
    done: (count: number) => count === 1 ? "1 chat was imported." : `${count} chats were imported.`,
    skipped: (count: number) => count === 1 ? "1 was imported before, and stays as it is." : `${count} were imported before, and stay as they are.`,
    refused: (count: number) => count === 1 ? "1 could not be read:" : `${count} could not be read:`, ofFile: (number: number) => `Chat ${number} of the file`,
    leftOut: "Images and recordings are named in the chats, not imported.", hint: "Titles and dates stay. Nothing in these chats is remembered about you.",
  },
  {
    title: "导入会话", looking: "正在查看文件内容…", find: "在这些会话中查找",
    all: "全选", none: "全不选", there: "已导入过", messages: (count: number) => `${count} 条消息`,
    chosen: (count: number) => `导入 ${count} 个会话`, nothing: "请先选择会话", cancel: "取消", close: "关闭",
    importing: (done: number, of: number) => `已导入 ${done} / ${of}`, untitled: "无标题的会话", more: (count: number) => `还有 ${count} 个`,
    done: (count: number) => `已导入 ${count} 个会话。`,
    skipped: (count: number) => `${count} 个此前已导入，保持不变。`,
    refused: (count: number) => `${count} 个无法读取：`, ofFile: (number: number) => `文件中的第 ${number} 个会话`,
    leftOut: "图片和录音只在会话中注明，没有导入。", hint: "标题和日期保持不变；不会从这些会话中记住关于你的内容。",
  },
  {
    title: "匯入對話", looking: "正在查看檔案內容…", find: "在這些對話中尋找",
    all: "全選", none: "全不選", there: "已匯入過", messages: (count: number) => `${count} 則訊息`,
    chosen: (count: number) => `匯入 ${count} 個對話`, nothing: "請先選擇對話", cancel: "取消", close: "關閉",
    importing: (done: number, of: number) => `已匯入 ${done} / ${of}`, untitled: "無標題的對話", more: (count: number) => `還有 ${count} 個`,
    done: (count: number) => `已匯入 ${count} 個對話。`,
    skipped: (count: number) => `${count} 個先前已匯入，保持不變。`,
    refused: (count: number) => `${count} 個無法讀取：`, ofFile: (number: number) => `檔案中的第 ${number} 個對話`,
    leftOut: "圖片和錄音只在對話中註明，沒有匯入。", hint: "標題和日期保持不變；不會從這些對話中記住關於你的內容。",
  },
);
