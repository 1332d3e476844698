// The words of the page's frame; every other part has a table of its own beside it.

import { table } from "./language";

export const words = table(
  {
    chats: "Chats", newChat: "New chat", conversation: "Conversation", inspector: "Inspector",
    showChats: "Show chats", hideChats: "Hide chats", showInspector: "Show inspector", hideInspector: "Hide inspector",
    settings: "Settings", close: "Close", skipToConversation: "Skip to the conversation",
    demo: "A demo model answers: it is deterministic and needs no key",
    offline: "No connection, trying again…", gone: "This chat is no longer there.",
    broken: "This part of the page failed.", again: "Try again",
    keyTitle: "An API key is needed", keyHint: "It stays in this tab and is forgotten when the tab closes.",
    keyLabel: "API key", keySave: "Continue", keyWrong: "That key is not known. Please try another.",
    theme: "Appearance", themes: { system: "As the system", light: "Light", dark: "Dark" },
    language: "Language", asBrowser: "As the browser",
    pages: { inbox: "Inbox", memory: "Memory", skills: "Skills", artifacts: "Files", prompts: "Prompts" },
  },
  {
    chats: "会话", newChat: "新会话", conversation: "对话", inspector: "检查器",
    showChats: "显示会话列表", hideChats: "隐藏会话列表", showInspector: "显示检查器", hideInspector: "隐藏检查器",
    settings: "设置", close: "关闭", skipToConversation: "跳到对话",
    demo: "当前由演示模型回答：结果固定，无需密钥",
    offline: "连接已断开，正在重连…", gone: "这个会话已不存在。",
    broken: "页面的这一部分出错了。", again: "重试",
    keyTitle: "需要 API 密钥", keyHint: "密钥只保存在当前标签页，关闭后即被清除。",
    keyLabel: "API 密钥", keySave: "继续", keyWrong: "密钥无效，请换一个。",
    theme: "外观", themes: { system: "跟随系统", light: "浅色", dark: "深色" },
    language: "语言", asBrowser: "跟随浏览器",
    pages: { inbox: "待处理", memory: "记忆", skills: "技能", artifacts: "文件", prompts: "提示词" },
  },
  {
    chats: "對話", newChat: "新對話", conversation: "對話內容", inspector: "檢查器",
    showChats: "顯示對話列表", hideChats: "隱藏對話列表", showInspector: "顯示檢查器", hideInspector: "隱藏檢查器",
    settings: "設定", close: "關閉", skipToConversation: "跳至對話內容",
    demo: "目前由示範模型回答：結果固定，無需金鑰",
    offline: "連線已中斷，正在重新連線…", gone: "這個對話已不存在。",
    broken: "頁面的這一部分發生錯誤。", again: "重試",
    keyTitle: "需要 API 金鑰", keyHint: "金鑰只保存在目前的分頁，關閉後即清除。",
    keyLabel: "API 金鑰", keySave: "繼續", keyWrong: "金鑰無效，請換一個。",
    theme: "外觀", themes: { system: "跟隨系統", light: "淺色", dark: "深色" },
    language: "語言", asBrowser: "跟隨瀏覽器",
    pages: { inbox: "待處理", memory: "記憶", skills: "技能", artifacts: "檔案", prompts: "提示詞" },
  },
);
