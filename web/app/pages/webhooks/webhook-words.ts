// The words of webhooks.

import { table } from "../../language";

export const words = table(
  {
    hint: "A webhook is an address that gets a signed notification when something happens in your chats, without their text.",
    add: "New webhook", none: "No webhooks yet", url: "Address", events: "Events", create: "Add",
    kinds: { "turn.finished": "an answer is finished", "approval.waiting": "a call waits for you", "limit.near": "a quota is nearly used up", "schedule.failed": "a schedule failed" },
    secret: (url: string) => `The secret of ${url}, which is not shown again`, isOn: (url: string) => `Notify ${url}`,
    failed: (times: number) => times === 1 ? "failed last time" : `failed ${times} times in a row`, off: "off",
    test: "Test", delivered: (status: number, ms: number) => `Delivered: ${status}, ${ms} ms`, notDelivered: (why: string) => `Not delivered: ${why}`,
    deliveries: "Deliveries", noDeliveries: "No deliveries yet", replay: "Try again", replayDead: "Retry all failed deliveries",
    replayed: (count: number) => count === 1 ? "One delivery is tried again" : `${count} deliveries are tried again`,
    states: { pending: "pending", delivered: "delivered", dead: "given up" }, tries: (count: number) => count === 1 ? "1 try" : `${count} tries`,
    deleted: (url: string) => `Deleted: ${url}`, actionOf: (action: string, name: string) => `${action}: ${name}`,
  },
  {
    hint: "Webhook 是一个地址：会话里发生了什么，会带签名通知它。通知里没有会话的内容。",
    add: "新建 Webhook", none: "还没有 Webhook", url: "地址", events: "通知哪些事", create: "添加",
    kinds: { "turn.finished": "回答完成", "approval.waiting": "有调用等你批准", "limit.near": "配额快用完", "schedule.failed": "定时任务失败" },
    secret: (url: string) => `${url} 的密钥，不会再次显示`, isOn: (url: string) => `启用：${url}`,
    failed: (times: number) => `连续失败 ${times} 次`, off: "已停用",
    test: "测试", delivered: (status: number, ms: number) => `已送达：${status}，${ms} 毫秒`, notDelivered: (why: string) => `未送达：${why}`,
    deliveries: "投递记录", noDeliveries: "还没有通知过", replay: "重试", replayDead: "重试全部已放弃的",
    replayed: (count: number) => `正在重试 ${count} 条`,
    states: { pending: "待送达", delivered: "已送达", dead: "已放弃" }, tries: (count: number) => `尝试 ${count} 次`,
    deleted: (url: string) => `已删除：${url}`, actionOf: (action: string, name: string) => `${action}：${name}`,
  },
  {
    hint: "Webhook 是一個位址：對話裡發生了什麼，會帶簽章通知它。通知裡沒有對話的內容。",
    add: "新增 Webhook", none: "還沒有 Webhook", url: "位址", events: "通知哪些事", create: "新增",
    kinds: { "turn.finished": "回答完成", "approval.waiting": "有呼叫等你核准", "limit.near": "配額快用完", "schedule.failed": "排程失敗" },
    secret: (url: string) => `${url} 的金鑰，不會再次顯示`, isOn: (url: string) => `啟用：${url}`,
    failed: (times: number) => `連續失敗 ${times} 次`, off: "已停用",
    test: "測試", delivered: (status: number, ms: number) => `已送達：${status}，${ms} 毫秒`, notDelivered: (why: string) => `未送達：${why}`,
    deliveries: "傳送記錄", noDeliveries: "還沒有通知過", replay: "重試", replayDead: "重試全部已放棄的",
    replayed: (count: number) => `正在重試 ${count} 筆`,
    states: { pending: "待送達", delivered: "已送達", dead: "已放棄" }, tries: (count: number) => `嘗試 ${count} 次`,
    deleted: (url: string) => `已刪除：${url}`, actionOf: (action: string, name: string) => `${action}：${name}`,
  },
);
