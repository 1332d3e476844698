// The words of saved prompts and personas.

import { table } from "../language";

export const words = table(
  {
    title: "Saved prompts", hint: "Type / in the message field to use a prompt. A persona is chosen when a chat begins.",
    prompts: "Prompts", personas: "Personas", newPrompt: "New prompt", newPersona: "New persona", none: "None yet",
    list: "Saved prompts", found: (count: number) => count === 1 ? "1 prompt" : `${count} prompts`, manage: "Saved prompts…", create: "Save a prompt…",
    name: "Name", nameHint: "Letters, digits, _ . and -: you call it by /name", about: "What it is for", text: "Text",
    fieldsHint: "Each {{word}} is a field that you fill in when you use it.", instructions: "Instructions", model: "Model", anyModel: "Any",
    forWhom: "For", forMe: "Only me", forFolder: (name: string) => `Members of ${name}`, forAll: "Everybody", ofAll: "everybody's",
    save: "Save", cancel: "Cancel", edit: (name: string) => `Edit ${name}`, delete: (name: string) => `Delete ${name}`, deleteNow: "Delete it?", keep: "Keep it",
    fill: (name: string) => `Fill in ${name}`, insert: "Insert", fetching: "Fetching…", ofServers: "From MCP servers",
  },
  {
    title: "保存的提示词", hint: "在消息框中输入 / 即可使用提示词；角色在开始会话时选择。",
    prompts: "提示词", personas: "角色", newPrompt: "新建提示词", newPersona: "新建角色", none: "还没有",
    list: "保存的提示词", found: (count: number) => `${count} 个提示词`, manage: "保存的提示词…", create: "保存提示词…",
    name: "名称", nameHint: "字母、数字、_ . 和 -：用 /名称 调用", about: "用途", text: "内容",
    fieldsHint: "每个 {{词}} 是使用时填写的一项。", instructions: "指示", model: "模型", anyModel: "任意",
    forWhom: "供谁使用", forMe: "仅自己", forFolder: (name: string) => `“${name}”的成员`, forAll: "所有人", ofAll: "所有人的",
    save: "保存", cancel: "取消", edit: (name: string) => `编辑“${name}”`, delete: (name: string) => `删除“${name}”`, deleteNow: "确定删除？", keep: "保留",
    fill: (name: string) => `填写“${name}”`, insert: "插入", fetching: "正在获取…", ofServers: "来自 MCP 服务器",
  },
  {
    title: "儲存的提示詞", hint: "在訊息欄中輸入 / 即可使用提示詞；角色在開始對話時選擇。",
    prompts: "提示詞", personas: "角色", newPrompt: "新增提示詞", newPersona: "新增角色", none: "還沒有",
    list: "儲存的提示詞", found: (count: number) => `${count} 個提示詞`, manage: "儲存的提示詞…", create: "儲存提示詞…",
    name: "名稱", nameHint: "字母、數字、_ . 和 -：用 /名稱 呼叫", about: "用途", text: "內容",
    fieldsHint: "每個 {{詞}} 是使用時填寫的一項。", instructions: "指示", model: "模型", anyModel: "任意",
    forWhom: "供誰使用", forMe: "僅自己", forFolder: (name: string) => `「${name}」的成員`, forAll: "所有人", ofAll: "所有人的",
    save: "儲存", cancel: "取消", edit: (name: string) => `編輯「${name}」`, delete: (name: string) => `刪除「${name}」`, deleteNow: "確定刪除？", keep: "保留",
    fill: (name: string) => `填寫「${name}」`, insert: "插入", fetching: "正在取得…", ofServers: "來自 MCP 伺服器",
  },
);
