// The words of a new chat: for people who have never heard of an event log.

import { table } from "../language";

export const words = table(
  {
    greeting: "What can I help with?",
    demoHint: "You are talking to the demo model: it knows a few set answers, so that you can look around without a key.",
    suggestion1: "Help me write a friendly message that turns down an invitation",
    suggestion2: "Plan simple dinners for a week, with a shopping list",
    suggestion3: "Explain compound interest with an example",
    suggestion4: "Give me ideas for a rainy Sunday with children",
    demo1: "What is 17*23?", demo2: "What time is it now?", demo3: "Remember that I like a plain design style.",
    demo4: "Note that the door code is 4711.", demo5: "How do I resume a stream?",
  },
  {
    greeting: "有什么可以帮你？",
    demoHint: "现在回答你的是演示模型：它只会一些固定的回答，让你不用密钥也能先看一看。",
    suggestion1: "帮我写一条婉拒邀请的消息，语气友好一些",
    suggestion2: "安排一周的简单晚餐，并列出购物清单",
    suggestion3: "举例说明什么是复利",
    suggestion4: "周日下雨，可以陪孩子玩些什么？",
    demo1: "17*23 等于多少？", demo2: "现在几点了？", demo3: "记住，我喜欢简约的设计风格",
    demo4: "记一下：门禁密码是 4711", demo5: "断线后怎么恢复事件流？",
  },
  {
    greeting: "有什麼可以幫你？",
    demoHint: "現在回答你的是示範模型：它只會一些固定的回答，讓你不用金鑰也能先看一看。",
    suggestion1: "幫我寫一則婉拒邀請的訊息，語氣友善一些",
    suggestion2: "安排一週的簡單晚餐，並列出購物清單",
    suggestion3: "舉例說明什麼是複利",
    suggestion4: "週日下雨，可以陪孩子玩些什麼？",
    demo1: "17*23 等於多少？", demo2: "現在幾點了？", demo3: "記住，我喜歡簡約的設計風格",
    demo4: "記一下：門禁密碼是 4711", demo5: "斷線後怎麼恢復事件流？",
  },
);
