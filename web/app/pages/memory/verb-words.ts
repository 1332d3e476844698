// What can be done with a memory, each in a line that says what becomes of it, and which of two memories holds.

import { table } from "../../language";

export const words = table(
  {
    more: "More", forget: "Forget", forgotten: "Forgotten. It can be brought back for 30 days.", broughtBack: "Remembered again.",
    hints: {
      pin: "It stands before all others in each prompt, and in full.", unpin: "It counts as others do again.",
      suppress: "It is still recalled, but counts less and is marked as doubtful.",
      freeze: "It is kept and not recalled until you use it again.",
      replace: "What is true now takes its place; this one is kept as replaced.",
      activate: "It is recalled as before.",
      forget: "It is not recalled any more. You can undo this for 30 days.",
      erase: "It goes for good, with all its versions. There is no way back.",
    },
    contradiction: {
      title: "Which of these holds?",
      saidAt: { earlier: (at: string) => `earlier: ${at}`, later: (at: string) => `later: ${at}` },
      answers: { earlier: "The earlier", later: "The later", both: "Both" },
      hints: {
        earlier: "The later one is kept as replaced, and not recalled any more.", later: "The earlier one is kept as replaced, and not recalled any more.",
        both: "Both are recalled, and you are not asked about them again.",
      },
      done: { earlier: "The earlier one holds.", later: "The later one holds.", both: "Both hold." },
      others: (count: number) => count === 1 ? "1 more like this" : `${count} more like this`,
      undone: "Undone.",
    },
  },
  {
    more: "更多", forget: "忘掉", forgotten: "已忘掉，30 天内可以找回。", broughtBack: "又记住了。",
    hints: {
      pin: "在每次的提示词里排在最前，而且是全文。", unpin: "和其他记忆一样对待。",
      suppress: "仍会被想起，但分量变轻，并标为存疑。",
      freeze: "保留下来，在你恢复使用之前不会被想起。",
      replace: "用现在的情况代替它；这一条作为“已替换”保留。",
      activate: "像以前一样被想起。",
      forget: "不再被想起，30 天内可以撤销。",
      erase: "连同所有版本彻底清除，无法找回。",
    },
    contradiction: {
      title: "以哪一条为准？",
      saidAt: { earlier: (at: string) => `较早：${at}`, later: (at: string) => `较晚：${at}` },
      answers: { earlier: "较早的", later: "较晚的", both: "都对" },
      hints: {
        earlier: "较晚的那条作为“已替换”保留，不再被想起。", later: "较早的那条作为“已替换”保留，不再被想起。",
        both: "两条都会被想起，以后不再询问。",
      },
      done: { earlier: "以较早的为准。", later: "以较晚的为准。", both: "两条都对。" },
      others: (count: number) => `另有 ${count} 组`,
      undone: "已撤销。",
    },
  },
  {
    more: "更多", forget: "忘掉", forgotten: "已忘掉，30 天內可以找回。", broughtBack: "又記住了。",
    hints: {
      pin: "在每次的提示詞裡排在最前，而且是全文。", unpin: "和其他記憶一樣對待。",
      suppress: "仍會被想起，但分量變輕，並標為存疑。",
      freeze: "保留下來，在你恢復使用之前不會被想起。",
      replace: "用現在的情況代替它；這一筆以「已取代」保留。",
      activate: "像以前一樣被想起。",
      forget: "不再被想起，30 天內可以復原。",
      erase: "連同所有版本徹底清除，無法找回。",
    },
    contradiction: {
      title: "以哪一筆為準？",
      saidAt: { earlier: (at: string) => `較早：${at}`, later: (at: string) => `較晚：${at}` },
      answers: { earlier: "較早的", later: "較晚的", both: "都對" },
      hints: {
        earlier: "較晚的那筆以「已取代」保留，不再被想起。", later: "較早的那筆以「已取代」保留，不再被想起。",
        both: "兩筆都會被想起，以後不再詢問。",
      },
      done: { earlier: "以較早的為準。", later: "以較晚的為準。", both: "兩筆都對。" },
      others: (count: number) => `另有 ${count} 組`,
      undone: "已復原。",
    },
  },
);
