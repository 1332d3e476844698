// What went wrong, for people: by the server's code where there are words for it, else as the server says it.

import { type Language, table } from "../language";

type Details = Readonly<Record<string, unknown>>;

const words = table(
  {
    artifacts_full: "Your file storage is full. Delete some files first.", artifact_not_found: "This file is no longer there.",
    artifact_damaged: "The content of this file is missing or damaged.", storage_full: "The server is out of storage space.",
    unreachable: "The server cannot be reached.", nothing_to_compress: "There is nothing to compress yet.",
    empty: "There is nothing to compress: the chat is empty.",
    newest_turn_only: "There is nothing to compress yet: the newest exchange always stays word for word.",
    too_little: "There is too little to compress yet: it would not be worth a summary.",
    compression_in_progress: "A compression is running already.", compression_conflict: "Another compression finished first. Check the versions.",
    summary_empty: "The model wrote no summary.", summary_invalid: "The model’s summary cannot be used.",
    summary_too_long: "The summary would have been longer than what it replaces.", summary_refused: "The model refused to write a summary.",
    summary_truncated: "The summary was cut off.", turn_in_progress: "An answer is still in progress. Stop it, or wait for it.",
    archive_conflict: "The chat is being archived, or was changed meanwhile. Please try again.",
    archive_damaged: "An archive of this chat is missing or damaged.", bad_import: "This file is not a valid export.",
    payload_too_large: "The file is too large.", conflict: "This chat is here already.",
    queue_full: "The server is busy. Please try again in a moment.", draining: "The server is restarting. Please try again in a moment.",
    session_not_found: "This chat is no longer there.", forbidden: "You do not have permission to do this.", session_read_only: "This chat belongs to someone else. Ask them for access.",
    memory_off: "Nothing is remembered here: the memory is switched off.", memory_not_found: "This is no longer remembered.",
    memory_changed: "It was changed in the meantime. Check it first.", memory_duplicate: "This is remembered already.",
    contradiction_not_found: "This was decided or changed meanwhile.",
    memory_full: "The memory is full. Delete something first.",
    cannot_switch: "This one cannot be switched off.", invalid_schedule: "A message cannot be sent at that time.", schedule_not_found: "This schedule is no longer there.",
    schedule_ended: "This schedule has ended. Make a new one.", run_in_progress: "It is running already.", too_many_schedules: "You have reached the limit of schedules. Delete one first.",
    webhook_url_refused: "A webhook needs an https:// address on a public host, or one that the operator allows.", webhook_not_found: "This webhook is no longer there.",
    too_many_webhooks: "You have reached the limit of webhooks. Delete one first.", delivery_not_found: "It is being retried already.",
    mcp_url_refused: "A server is added on the public web alone, or where the operator allows it.", mcp_server_in_settings: "This server is one of the settings, and is changed there.",
    too_many_mcp_servers: "There are as many added servers as there may be.", encryption_off: "The gateway has no key to store secrets with: set GATEWAY_ENCRYPTION_KEYS.",
    too_many_links: "You have as many links as you may. End one first.", not_with_this_key: "Not with this key: sign in, or use another one.", no_public_links: "Links for anybody are off here.",
    too_many_keys: "This user has as many keys as may be. Revoke one first.", component_changed: "It was changed meanwhile: have a look at the newest version.",
  },
  {
    artifacts_full: "你的文件已占满空间，请先删除一些。", artifact_not_found: "这个文件已不存在。",
    artifact_damaged: "这个文件的内容缺失或已损坏。", storage_full: "服务器已没有可用空间。",
    unreachable: "无法连接服务器。", nothing_to_compress: "目前没有可压缩的内容。",
    empty: "会话为空，没有可压缩的内容。",
    newest_turn_only: "目前没有可压缩的内容：最新一轮对话始终保留原文。",
    too_little: "可压缩的内容太少，不值得做摘要。",
    compression_in_progress: "正在压缩中。", compression_conflict: "另一次压缩先完成了，请查看版本列表。",
    summary_empty: "模型没有写出摘要。", summary_invalid: "模型写出的内容不是有效的摘要。",
    summary_too_long: "摘要比它要替代的内容还长。", summary_refused: "模型拒绝写摘要。",
    summary_truncated: "摘要没有写完就中断了。", turn_in_progress: "上一个回答还在进行，请先停止或等待完成。",
    archive_conflict: "会话正在归档，或内容刚有变化，请重试。",
    archive_damaged: "这个会话的归档文件缺失或已损坏。", bad_import: "这不是完好的导出文件。",
    payload_too_large: "文件太大。", conflict: "这个会话已经存在。",
    queue_full: "当前操作过多，请稍后再试。", draining: "服务器正在重启，请稍后再试。",
    session_not_found: "这个会话已不存在。", forbidden: "你没有权限执行此操作。", session_read_only: "这个会话属于别人。要发言，请联系对方。",
    memory_off: "记忆功能已关闭，不会记住任何内容。", memory_not_found: "这条记忆已不存在。",
    memory_changed: "这条记忆刚被修改过，请先查看最新内容。", memory_duplicate: "已有相同的记忆。",
    contradiction_not_found: "这一组刚被处理或修改过。",
    memory_full: "记忆已满，请先删除一些。",
    cannot_switch: "这一项不能关闭。", invalid_schedule: "无法在这个时间发送。", schedule_not_found: "这个定时任务已不存在。",
    schedule_ended: "它不会再运行，请新建定时任务。", run_in_progress: "它正在运行。", too_many_schedules: "定时任务已达上限，请先删除一个。",
    webhook_url_refused: "Webhook 必须是公网主机的 https:// 地址，或运维者允许的地址。", webhook_not_found: "这个 Webhook 已不存在。",
    mcp_url_refused: "只能添加公网上的服务器，或运维者允许的地址。", mcp_server_in_settings: "这个服务器来自设置，请在设置中修改。", too_many_mcp_servers: "已添加的服务器达到上限。", encryption_off: "网关没有保存机密的密钥：请设置 GATEWAY_ENCRYPTION_KEYS。", too_many_links: "链接已达上限，请先结束一个。", not_with_this_key: "此密钥不能这样做：请登录，或换一个密钥。", no_public_links: "这里不允许对任何人公开的链接。", too_many_keys: "该用户的密钥已达上限，请先撤销一个。",
    component_changed: "内容刚被修改过，请先查看最新版本。",
    too_many_webhooks: "Webhook 已达上限，请先删除一个。", delivery_not_found: "已在重试中。",
  },
  {
    artifacts_full: "你的檔案已占滿空間，請先刪除一些。", artifact_not_found: "這個檔案已不存在。",
    artifact_damaged: "這個檔案的內容遺失或已損毀。", storage_full: "伺服器已沒有可用空間。",
    unreachable: "無法連線至伺服器。", nothing_to_compress: "目前沒有可壓縮的內容。",
    empty: "對話是空的，沒有可壓縮的內容。",
    newest_turn_only: "目前沒有可壓縮的內容：最新一輪對話一律保留原文。",
    too_little: "可壓縮的內容太少，不值得做摘要。",
    compression_in_progress: "正在壓縮中。", compression_conflict: "另一次壓縮先完成了，請查看版本列表。",
    summary_empty: "模型沒有寫出摘要。", summary_invalid: "模型寫出的內容不是有效的摘要。",
    summary_too_long: "摘要比它要取代的內容還長。", summary_refused: "模型拒絕寫摘要。",
    summary_truncated: "摘要沒有寫完就中斷了。", turn_in_progress: "上一個回答還在進行，請先停止或等待完成。",
    archive_conflict: "對話正在封存，或內容剛有變化，請再試一次。",
    archive_damaged: "這個對話的封存檔遺失或已損毀。", bad_import: "這不是完好的匯出檔案。",
    payload_too_large: "檔案太大。", conflict: "這個對話已經存在。",
    queue_full: "目前操作過多，請稍後再試。", draining: "伺服器正在重新啟動，請稍後再試。",
    session_not_found: "這個對話已不存在。", forbidden: "你沒有權限執行此操作。", session_read_only: "這個對話屬於別人。要發言，請聯絡對方。",
    memory_off: "記憶功能已關閉，不會記住任何內容。", memory_not_found: "這筆記憶已不存在。",
    memory_changed: "這筆記憶剛被修改過，請先查看最新內容。", memory_duplicate: "已有相同的記憶。",
    contradiction_not_found: "這一組剛被處理或修改過。",
    memory_full: "記憶已滿，請先刪除一些。",
    cannot_switch: "這一項無法關閉。", invalid_schedule: "無法在這個時間傳送。", schedule_not_found: "這個排程已不存在。",
    schedule_ended: "它不會再執行，請新增排程。", run_in_progress: "它正在執行。", too_many_schedules: "排程已達上限，請先刪除一個。",
    webhook_url_refused: "Webhook 必須是公開主機的 https:// 位址，或營運者允許的位址。", webhook_not_found: "這個 Webhook 已不存在。",
    mcp_url_refused: "只能新增公開網路上的伺服器，或營運者允許的位址。", mcp_server_in_settings: "這個伺服器來自設定，請在設定中修改。", too_many_mcp_servers: "已新增的伺服器達到上限。", encryption_off: "閘道沒有保存機密的金鑰：請設定 GATEWAY_ENCRYPTION_KEYS。", too_many_links: "連結已達上限，請先結束一個。", not_with_this_key: "此金鑰不能這樣做：請登入，或換一個金鑰。", no_public_links: "這裡不允許對任何人公開的連結。", too_many_keys: "該使用者的金鑰已達上限，請先撤銷一個。",
    component_changed: "內容剛被修改過，請先查看最新版本。",
    too_many_webhooks: "Webhook 已達上限，請先刪除一個。", delivery_not_found: "已在重試中。",
  },
);

export function inWords(error: Error, language: Language): string {
  const { code, details = {} } = error as Error & { readonly code?: string; readonly details?: Details };
  const known: Readonly<Record<string, string>> = words[language];
  for (const name of [details.reason, code]) {
    if (typeof name === "string" && Object.hasOwn(known, name)) {
      const text = known[name] ?? error.message;
      return name === "bad_import" || name === "invalid_schedule" ? `${text} ${error.message}` : text;
    }
  }
  return error.message;
}

export function codeOf(error: unknown): string {
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" ? code : "";
}
