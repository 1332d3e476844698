// The words of projects, and of what is shared in them.

import { table } from "../language";

export const words = table(
  {
    share: "Share with people…", title: "Share this chat", project: "Project", none: "Choose a project", newProject: "New project", name: "Name", create: "Make it",
    members: "Members", add: "Invite", user: "User", invited: "invited", takeBack: (user: string) => `Take the invitation of ${user} back`, roleOf: (user: string) => `Role of ${user}`, remove: (user: string) => `Remove ${user}`, leave: "Leave",
    roles: { owner: "owner", editor: "editor", reader: "reader" },
    isShared: "Members of the project read this chat",
    hint: "They see all of it, also what was said and remembered in it before. From now on it knows nothing that is remembered of you.",
    isWritten: "Owners and editors of the project write in it too",
    writtenHint: "Their messages count for themselves. When they may no more, what they have running ends.",
    by: (user: string, writes: boolean) => `Shared by ${user}. ${writes ? "Owners and editors write in it." : "You read it."}`, others: "Chats shared in this project", rename: "Rename", delete: "Delete the project",
    deleteHint: "Chats that were shared in it stay with those who made them.", untitled: "Untitled",
    invitations: "Invitations", asks: (user: string, project: string, role: string) => `${user} asks you into ${project}, as ${role}.`, accept: "Accept", decline: "Decline",
  },
  {
    share: "与他人共享…", title: "共享这个会话", project: "项目", none: "选择一个项目", newProject: "新建项目", name: "名称", create: "创建",
    members: "成员", add: "邀请", user: "用户", invited: "已邀请", takeBack: (user: string) => `撤回对 ${user} 的邀请`, roleOf: (user: string) => `${user} 的角色`, remove: (user: string) => `移除 ${user}`, leave: "退出",
    roles: { owner: "所有者", editor: "编辑者", reader: "读者" },
    isShared: "项目成员可以阅读这个会话",
    hint: "他们看得到全部内容，包括之前说过和召回过的。从现在起，它不知道关于你的任何记忆。",
    isWritten: "项目的所有者和编辑者也可以在里面写",
    writtenHint: "他们的消息计在他们自己名下。不再允许时，他们正在运行的会结束。",
    by: (user: string, writes: boolean) => `由 ${user} 共享，${writes ? "所有者和编辑者可以在里面写" : "你可以阅读"}。`, others: "这个项目里共享的会话", rename: "改名", delete: "删除项目",
    deleteHint: "在里面共享过的会话留给各自的创建者。", untitled: "未命名",
    invitations: "邀请", asks: (user: string, project: string, role: string) => `${user} 邀请你以${role}身份加入 ${project}。`, accept: "接受", decline: "拒绝",
  },
  {
    share: "與他人共用…", title: "共用這個對話", project: "專案", none: "選擇一個專案", newProject: "新增專案", name: "名稱", create: "建立",
    members: "成員", add: "邀請", user: "使用者", invited: "已邀請", takeBack: (user: string) => `撤回對 ${user} 的邀請`, roleOf: (user: string) => `${user} 的角色`, remove: (user: string) => `移除 ${user}`, leave: "退出",
    roles: { owner: "擁有者", editor: "編輯者", reader: "讀者" },
    isShared: "專案成員可以閱讀這個對話",
    hint: "他們看得到全部內容，包括之前說過和召回過的。從現在起，它不知道關於你的任何記憶。",
    isWritten: "專案的擁有者和編輯者也可以在裡面寫",
    writtenHint: "他們的訊息計在他們自己名下。不再允許時，他們正在執行的會結束。",
    by: (user: string, writes: boolean) => `由 ${user} 共用，${writes ? "擁有者和編輯者可以在裡面寫" : "你可以閱讀"}。`, others: "這個專案裡共用的對話", rename: "改名", delete: "刪除專案",
    deleteHint: "在裡面共用過的對話留給各自的建立者。", untitled: "未命名",
    invitations: "邀請", asks: (user: string, project: string, role: string) => `${user} 邀請你以${role}身分加入 ${project}。`, accept: "接受", decline: "拒絕",
  },
);
