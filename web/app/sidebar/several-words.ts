// The words of several chats that are chosen together.

import { table } from "../language";

const chats = (count: number): string => count === 1 ? "1 chat" : `${count} chats`;

export const words = table(
  {
    several: "Chosen chats", choose: "Choose several", chooseOne: (title: string) => `Choose ${title}`, chosen: (count: number) => `${count} chosen`, all: "All", archive: "Archive", unarchive: "Back to the list",
    delete: "Delete", end: "Stop choosing", cancel: "Cancel", archived: (count: number) => `Archived: ${chats(count)}`, unarchived: (count: number) => `Back in the list: ${chats(count)}`,
    deleted: (count: number) => `Deleted: ${chats(count)}`, archiveTitle: (count: number) => `Archive ${chats(count)}?`, archiveHint: "They leave the list and can be found under Archived. You can undo it.",
    deleteTitle: (count: number) => `Delete ${chats(count)}?`, deleteHint: "All their messages are deleted with them. This cannot be undone.",
    amongArchived: (count: number) => `${count} of them ${count === 1 ? "is" : "are"} archived.`, deleteNow: (count: number) => `Delete ${chats(count)}`,
    progress: (done: number, count: number) => `${done} of ${count}`, archiveAll: "Archive all chats…", deleteAll: "Delete all chats…", noneThere: "There are no chats.",
  },
  {
    several: "已选会话", choose: "选择多个", chooseOne: (title) => `选择“${title}”`, chosen: (count) => `已选 ${count} 个`, all: "全选", archive: "归档", unarchive: "移回列表",
    delete: "删除", end: "结束选择", cancel: "取消", archived: (count) => `已归档 ${count} 个会话`, unarchived: (count) => `已移回列表：${count} 个会话`,
    deleted: (count) => `已删除 ${count} 个会话`, archiveTitle: (count) => `要归档 ${count} 个会话吗？`, archiveHint: "它们会离开列表，可在“已归档”中找到。可以撤销。",
    deleteTitle: (count) => `要删除 ${count} 个会话吗？`, deleteHint: "所有消息会一并删除，无法恢复。",
    amongArchived: (count) => `其中 ${count} 个已归档。`, deleteNow: (count) => `删除 ${count} 个会话`,
    progress: (done, count) => `${done} / ${count}`, archiveAll: "归档所有会话…", deleteAll: "删除所有会话…", noneThere: "没有会话。",
  },
  {
    several: "已選對話", choose: "選擇多個", chooseOne: (title) => `選擇「${title}」`, chosen: (count) => `已選 ${count} 個`, all: "全選", archive: "封存", unarchive: "移回列表",
    delete: "刪除", end: "結束選擇", cancel: "取消", archived: (count) => `已封存 ${count} 個對話`, unarchived: (count) => `已移回列表：${count} 個對話`,
    deleted: (count) => `已刪除 ${count} 個對話`, archiveTitle: (count) => `要封存 ${count} 個對話嗎？`, archiveHint: "它們會離開列表，可在「已封存」中找到。可以復原。",
    deleteTitle: (count) => `要刪除 ${count} 個對話嗎？`, deleteHint: "所有訊息會一併刪除，無法復原。",
    amongArchived: (count) => `其中 ${count} 個已封存。`, deleteNow: (count) => `刪除 ${count} 個對話`,
    progress: (done, count) => `${done} / ${count}`, archiveAll: "封存所有對話…", deleteAll: "刪除所有對話…", noneThere: "沒有對話。",
  },
);
