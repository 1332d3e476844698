// The words of where a search of the chats looks.

import { table } from "../language";

export const words = table(
  {
    filter: "Filter", filtered: (count: number) => count === 1 ? "1 filter" : `${count} filters`, clear: "Without filters", where: "Look in", anywhere: "Titles and messages", titles: "Titles", messages: "Messages",
    when: "Last used", anyTime: "At any time", days: (days: number) => days === 1 ? "Today" : days === 365 ? "In the last year" : `In the last ${days} days`,
    folder: "Folder", anyFolder: "Any", among: "Chats", allChats: "All", notArchived: "Not archived", archived: "Archived",
  },
  {
    filter: "筛选", filtered: (count) => `${count} 项筛选`, clear: "清除筛选", where: "查找范围", anywhere: "标题和消息", titles: "标题", messages: "消息",
    when: "最近使用", anyTime: "任何时间", days: (days) => days === 1 ? "今天" : days === 365 ? "最近一年" : `最近 ${days} 天`,
    folder: "文件夹", anyFolder: "任意", among: "会话", allChats: "全部", notArchived: "未归档", archived: "已归档",
  },
  {
    filter: "篩選", filtered: (count) => `${count} 項篩選`, clear: "清除篩選", where: "尋找範圍", anywhere: "標題和訊息", titles: "標題", messages: "訊息",
    when: "最近使用", anyTime: "任何時間", days: (days) => days === 1 ? "今天" : days === 365 ? "最近一年" : `最近 ${days} 天`,
    folder: "資料夾", anyFolder: "任意", among: "對話", allChats: "全部", notArchived: "未封存", archived: "已封存",
  },
);
