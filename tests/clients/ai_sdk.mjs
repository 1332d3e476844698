// A page's chat with @ai-sdk/react and ai: `API VERSION CHAT STEPS`. STEPS is a JSON array of what the page does, each
// followed by a line with the chat's status, error and messages.
//   {send: "text", files?, edit?: index of a message, tools?}   {approve: bool, reason?, partly?}   {regenerate: true}   all until the chat is ready again
//   {send: "text", leave: true}   the connection is closed at the first text, as by stop()
//   {stop: true}   the documented way: the chat's stop(), and the endpoint
//   {load: true}   a new page: its messages are asked for      {resume: true}   what runs is taken up
import process from "node:process"

const [api, version, id, steps] = process.argv.slice(2)
const suffix = version === "6" ? "-6" : ""
const { Chat } = await import(`@ai-sdk/react${suffix}`)
const { DefaultChatTransport, ...is } = await import(`ai${suffix}`)
const headers = version === "6" ? {} : { "x-ai-sdk": version }

// A tool of the page; who sends it along is asked to run it.
const tools = {
  page_title: { description: "The title of the page.", parameters: { type: "object", properties: {} } },
}

let data = []
const open = (messages = []) =>
  new Chat({
    id,
    messages,
    transport: new DefaultChatTransport({ api, headers }),
    sendAutomaticallyWhen: (chat) =>
      is.lastAssistantMessageIsCompleteWithApprovalResponses(chat) || is.lastAssistantMessageIsCompleteWithToolCalls(chat),
    onToolCall: ({ toolCall }) => {
      chat.addToolOutput({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output: { title: "Home" } })
    },
    onData: (part) => data.push(part),
    onError: () => {},
  })
const until = async (fits) => {
  while (!fits()) await new Promise((resolve) => setTimeout(resolve, 5))
}
const settled = () => until(() => ["ready", "error"].includes(chat.status))
const last = () => chat.messages.at(-1)
const hasText = () => last()?.role === "assistant" && last().parts.some((part) => part.type === "text" && part.text)

let chat = open()
for (const step of JSON.parse(steps)) {
  data = []
  if (step.load) {
    chat = open(await (await fetch(`${api}/${id}/messages`)).json())
  } else if (step.resume) {
    await chat.resumeStream()
  } else if (step.leave) {
    const sending = chat.sendMessage({ text: step.send })
    await until(hasText)
    await chat.stop()
    await sending
  } else if (step.send) {
    const messageId = step.edit === undefined ? undefined : chat.messages[step.edit].id
    await chat.sendMessage({ text: step.send, files: step.files, messageId }, { body: step.tools ? { tools } : {} })
    if (step.tools) await until(() => last().parts.at(-1).state === "done")
  } else if (step.regenerate) {
    await chat.regenerate()
  } else if (step.stop) {
    await chat.stop()
    await fetch(`${api}/${id}/stop`, { method: "POST" })
  } else {
    const asked = last().parts.find((part) => part.state === "approval-requested")
    await chat.addToolApprovalResponse({ id: asked.approval.id, approved: step.approve, reason: step.reason })
    if (!step.partly) await until(() => chat.status !== "ready" || !last().parts.some((part) => part.state === "approval-responded"))
  }
  await settled()
  const { status, error, messages } = chat
  process.stdout.write(JSON.stringify({ status, error: error?.message, messages, data }) + "\n")
}
process.exit(0)
