// The words of a shared page that are its own.

import { table } from "../app/language";

export const words = table(
  {
    made: (time: string) => `Begun ${time}`,
    print: "Print or save as PDF…", continue: "Continue in a chat of my own", chat: "Conversation", timings: "Timings",
    beside: "Between turns", fromTheBeginning: "another branch, from the beginning", after: (turn: string) => `another branch, after ${turn}`,
    withdrawn: (attempt: number) => `What attempt ${attempt} had said`, unfinished: "The answer was still being written when this page was made.",
    damaged: "A part of this page is damaged and cannot be shown.",
    cut: "The conversation goes on: all of it would be too large for one page.",
  },
  {
    made: (time: string) => `开始于 ${time}`,
    print: "打印或另存为 PDF…", continue: "在我自己的会话中继续", chat: "对话", timings: "耗时",
    beside: "两轮之间", fromTheBeginning: "另一分支，从头开始", after: (turn: string) => `另一分支，接在 ${turn} 之后`,
    withdrawn: (attempt: number) => `第 ${attempt} 次尝试写下的内容`, unfinished: "生成此页面时，回答仍在书写中。",
    damaged: "此页面有一部分已损坏，无法显示。", cut: "对话还没有结束：全部内容对一个页面来说太大了。",
  },
  {
    made: (time: string) => `開始於 ${time}`,
    print: "列印或另存為 PDF…", continue: "在我自己的對話中繼續", chat: "對話", timings: "耗時",
    beside: "兩輪之間", fromTheBeginning: "另一分支，從頭開始", after: (turn: string) => `另一分支，接在 ${turn} 之後`,
    withdrawn: (attempt: number) => `第 ${attempt} 次嘗試寫下的內容`, unfinished: "產生此頁面時，回答仍在書寫中。",
    damaged: "此頁面有一部分已損毀，無法顯示。", cut: "對話還沒有結束：全部內容對一個頁面來說太大了。",
  },
);
