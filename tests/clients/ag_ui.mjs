// An application with HttpAgent of @ag-ui/client: `URL VERSION THREAD STEPS`. STEPS is a JSON array of what it does, each
// followed by a line with its messages, its open interrupts, and the events and the failure of the step.
//   {send: "text" or parts, id?, tools?, context?}   {edit: index of a message, send}   {regenerate: true}   {again: true}: run as it is
//   {send, leave: true}   the connection is closed at the first text, as by abortRun(); `leaveAt: n`: at the n-th event
//   {resume: [{status, payload}]}   the open interrupts are answered, in order
//   {tool: content}   the open call of the application's own tool is answered, and run
//   {stop: true}   {connect: true}   {fresh: true}: a new page, without messages; {fresh: "name"}: of that thread
import process from "node:process"

const [url, version, firstThread, steps] = process.argv.slice(2)
let threadId = firstThread
const { HttpAgent } = await import(`@ag-ui/client${version === "0" ? "-0" : ""}`)

class Agent extends HttpAgent {
  connect(input) {
    const other = new HttpAgent({ url: `${url}/connect` })
    return other.run(input)
  }
}
const tools = [{ name: "page_title", description: "The title of the page.", parameters: { type: "object", properties: {} } }]

let events, failure
const watch = {
  onEvent: ({ event }) => void events.push(event),
  onRunFailed: ({ error }) => {
    failure = { message: error.message, payload: error.payload }
    return { stopPropagation: true } // else it is printed
  },
}
const open = () => {
  const agent = new Agent({ url, threadId })
  agent.subscribe(watch)
  return agent
}
let agent = open()
const lastCall = () => agent.messages.flatMap((message) => message.toolCalls ?? []).at(-1)

for (const [index, step] of JSON.parse(steps).entries()) {
  events = []
  failure = undefined
  const parameters = { tools: step.tools ? tools : [], context: step.context ?? [] }
  if (step.edit !== undefined) agent.setMessages(agent.messages.slice(0, step.edit))
  if (typeof step.fresh === "string") threadId = step.fresh
  if (step.fresh) agent = open()
  if (step.regenerate) agent.setMessages(agent.messages.slice(0, agent.messages.findLastIndex((message) => message.role === "user") + 1))
  if (step.tool) agent.addMessage({ id: `result-${index}`, role: "tool", toolCallId: lastCall().id, content: step.tool })
  if (step.send) agent.addMessage({ id: step.id ?? `${threadId}-${index}`, role: "user", content: step.send })
  if (step.resume) parameters.resume = step.resume.map((each, at) => ({ interruptId: agent.pendingInterrupts[at].id, ...each }))
  if (step.stop) {
    await fetch(`${url}/stop`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ threadId }) })
  } else if (step.connect) {
    await agent.connectAgent(parameters)
  } else if (step.send || step.again || step.tool || step.resume || step.regenerate) {
    const leaving = {
      onTextMessageContentEvent: () => void (step.leave && agent.abortRun()),
      onEvent: () => void (events.length === step.leaveAt && agent.abortRun()),
    }
    await agent.runAgent(parameters, leaving)
  }
  const { messages, pendingInterrupts } = agent
  process.stdout.write(JSON.stringify({ messages, pending: pendingInterrupts, events, failure }) + "\n")
}
process.exit(0)
