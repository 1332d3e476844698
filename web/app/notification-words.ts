import { table } from "./language";

export const words = table(
  {
    answered: "The answer is there.", waits: "{name} waits for your approval.",
    notify: "Notifications", notifyHint: "when you are elsewhere and a long answer is there, or something waits for you",
    refused: "Your browser does not let this page notify you. Allow it there first.",
  },
  {
    answered: "回答好了。", waits: "{name} 等待你批准。",
    notify: "通知", notifyHint: "当你不在此页面，而较长的回答已完成，或有事需要你处理时",
    refused: "浏览器不允许此页面发送通知，请先在浏览器中允许。",
  },
  {
    answered: "回答好了。", waits: "{name} 等待你核准。",
    notify: "通知", notifyHint: "當你不在此頁面，而較長的回答已完成，或有事需要你處理時",
    refused: "瀏覽器不允許此頁面傳送通知，請先在瀏覽器中允許。",
  },
);
