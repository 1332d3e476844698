// The words of projects, and of what is shared in them.

import { table } from "../language";

export const words = table(
  {
    share: "Share with people…", link: "Share a link…", people: "Who shares this chat", title: "Share this chat", theirTitle: "Shared chat",
    withMe: "Shared with me", nothingShared: "Nobody shares a chat with you", newOnes: (count: number) => `${count} new`,
    whose: (user: string, project?: string) => project === undefined ? user : `${user} · ${project}`, sharedIn: (project = "a project") => `Shared in ${project}`, readOnly: "read only",
    project: "Project", none: "Choose a project", newProject: "New project…", name: "Name of the project", create: "Create",
    members: "Members", add: "Invite", user: "Invite a user", userHint: "By their user name. They decide whether to join.", invited: "invited", takeBack: (user: string) => `Withdraw the invitation of ${user}`, roleOf: (user: string) => `Role of ${user}`, remove: (user: string) => `Remove ${user}`, leave: "Leave",
    roles: { owner: "owner", editor: "editor", reader: "reader" },
    access: "Who can see this chat", levels: { none: "Only you", read: "Members can read it", write: "Members can read it, owners and editors can write" },
    levelHints: {
      none: "", read: "They see the whole chat, also what was said before. From now on it uses nothing that is remembered about you.",
      write: "As above. Messages of others count towards their own limits.",
    },
    by: (user: string, mayWrite: boolean) => `${user} shares this chat. ${mayWrite ? "You can read it and write in it." : "You can read it."}`,
    others: "Chats shared in this project", manage: "Manage the project", rename: "Rename", delete: "Delete the project", deleteNow: "Delete for good", cancel: "Cancel",
    deleteHint: "Chats shared in it stay with the people who made them. What was remembered in it is erased.", untitled: "Untitled",
    invitations: "Invitations", asks: (user: string, project: string, role: string) => `${user} invites you to ${project} as ${role}.`, accept: "Accept", decline: "Decline",
  },
  {
    share: "与他人共享…", link: "用链接共享…", people: "谁在共享这个会话", title: "共享这个会话", theirTitle: "共享的会话",
    withMe: "与我共享", nothingShared: "还没有人与你共享会话", newOnes: (count: number) => `${count} 个新会话`,
    whose: (user: string, project?: string) => project === undefined ? user : `${user} · ${project}`, sharedIn: (project = "项目") => `已在 ${project} 中共享`, readOnly: "只读",
    project: "项目", none: "选择一个项目", newProject: "新建项目…", name: "项目名称", create: "创建",
    members: "成员", add: "邀请", user: "邀请用户", userHint: "填写用户名，由对方决定是否加入。", invited: "已邀请", takeBack: (user: string) => `撤回对 ${user} 的邀请`, roleOf: (user: string) => `${user} 的角色`, remove: (user: string) => `移除 ${user}`, leave: "退出",
    roles: { owner: "所有者", editor: "编辑者", reader: "读者" },
    access: "谁能看到这个会话", levels: { none: "仅自己", read: "成员可以阅读", write: "成员可以阅读，所有者和编辑者可以发言" },
    levelHints: { none: "", read: "他们能看到整个会话，包括之前的内容。从现在起，它不再使用关于你的记忆。", write: "同上。其他人的消息计入各自的限额。" },
    by: (user: string, mayWrite: boolean) => `${user} 共享了这个会话。${mayWrite ? "你可以阅读和发言。" : "你可以阅读。"}`,
    others: "这个项目里共享的会话", manage: "管理项目", rename: "改名", delete: "删除项目", deleteNow: "永久删除", cancel: "取消",
    deleteHint: "在里面共享的会话仍归各自的创建者所有；项目里记住的内容会被清除。", untitled: "未命名",
    invitations: "邀请", asks: (user: string, project: string, role: string) => `${user} 邀请你以${role}身份加入 ${project}。`, accept: "接受", decline: "拒绝",
  },
  {
    link: "用連結共享…",
    share: "與他人共用…", people: "誰在共用這個對話", title: "共用這個對話", theirTitle: "共用的對話",
    withMe: "與我共用", nothingShared: "還沒有人與你共用對話", newOnes: (count: number) => `${count} 個新對話`,
    whose: (user: string, project?: string) => project === undefined ? user : `${user} · ${project}`, sharedIn: (project = "專案") => `已在 ${project} 中共用`, readOnly: "唯讀",
    project: "專案", none: "選擇一個專案", newProject: "新增專案…", name: "專案名稱", create: "建立",
    members: "成員", add: "邀請", user: "邀請使用者", userHint: "填寫使用者名稱，由對方決定是否加入。", invited: "已邀請", takeBack: (user: string) => `撤回對 ${user} 的邀請`, roleOf: (user: string) => `${user} 的角色`, remove: (user: string) => `移除 ${user}`, leave: "退出",
    roles: { owner: "擁有者", editor: "編輯者", reader: "讀者" },
    access: "誰能看到這個對話", levels: { none: "僅自己", read: "成員可以閱讀", write: "成員可以閱讀，擁有者和編輯者可以發言" },
    levelHints: { none: "", read: "他們能看到整個對話，包括之前的內容。從現在起，它不再使用關於你的記憶。", write: "同上。其他人的訊息計入各自的限額。" },
    by: (user: string, mayWrite: boolean) => `${user} 共用了這個對話。${mayWrite ? "你可以閱讀和發言。" : "你可以閱讀。"}`,
    others: "這個專案裡共用的對話", manage: "管理專案", rename: "改名", delete: "刪除專案", deleteNow: "永久刪除", cancel: "取消",
    deleteHint: "在裡面共用的對話仍歸各自的建立者所有；專案裡記住的內容會被清除。", untitled: "未命名",
    invitations: "邀請", asks: (user: string, project: string, role: string) => `${user} 邀請你以${role}身分加入 ${project}。`, accept: "接受", decline: "拒絕",
  },
);
