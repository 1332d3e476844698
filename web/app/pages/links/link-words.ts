// The words of links to chats.

import { table } from "../../language";

export const words = table(
  {
    title: "Link to this chat", hint: "Whoever opens the link reads the chat, without what is remembered about you. You can end it at any time.",
    who: "For whom", audiences: { signed_in: "Everybody who signs in here", anybody: "Whoever has the link" },
    live: "Also what is said from now on", until: "Ends on (never if empty)", create: "Make the link", made: "The link. It is not shown again:",
    mine: "Links to this chat", all: "Your links to chats, until you end them.", none: "There are no links.", untitled: "Untitled chat",
    asOf: (at: string) => `as of ${at}`, isLive: "with all that comes", opened: (count: number, at: string) => count === 1 ? `opened once, ${at}` : `opened ${count} times, last ${at}`,
    never: "never opened", ends: (at: string) => `until ${at}`, over: "has ended", end: "End", endOf: (title: string) => `End the link to ${title}`, ended: "The link is ended.",
    opening: "One moment…", nothing: "There is nothing at this link: it has ended, or never was.",
  },
  {
    title: "这个会话的链接", hint: "打开链接的人可以阅读会话，其中不含对你的记忆。你可以随时结束它。",
    who: "谁可以看", audiences: { signed_in: "在此登录的所有人", anybody: "拥有链接的任何人" },
    live: "也包括之后的内容", until: "结束日期（留空为永久）", create: "创建链接", made: "链接，不会再次显示：",
    mine: "这个会话的链接", all: "你的会话链接，直到你结束它们。", none: "没有链接。", untitled: "无标题会话",
    asOf: (at) => `内容截至 ${at}`, isLive: "包括之后的内容", opened: (count, at) => `打开过 ${count} 次，最近 ${at}`,
    never: "从未打开", ends: (at) => `到 ${at} 为止`, over: "已结束", end: "结束", endOf: (title) => `结束“${title}”的链接`, ended: "链接已结束。",
    opening: "请稍候…", nothing: "这个链接没有内容：它已结束，或从未存在。",
  },
  {
    title: "這個對話的連結", hint: "開啟連結的人可以閱讀對話，其中不含對你的記憶。你可以隨時結束它。",
    who: "誰可以看", audiences: { signed_in: "在此登入的所有人", anybody: "擁有連結的任何人" },
    live: "也包括之後的內容", until: "結束日期（留空為永久）", create: "建立連結", made: "連結，不會再次顯示：",
    mine: "這個對話的連結", all: "你的對話連結，直到你結束它們。", none: "沒有連結。", untitled: "無標題對話",
    asOf: (at) => `內容截至 ${at}`, isLive: "包括之後的內容", opened: (count, at) => `開啟過 ${count} 次，最近 ${at}`,
    never: "從未開啟", ends: (at) => `到 ${at} 為止`, over: "已結束", end: "結束", endOf: (title) => `結束「${title}」的連結`, ended: "連結已結束。",
    opening: "請稍候…", nothing: "這個連結沒有內容：它已結束，或從未存在。",
  },
);
