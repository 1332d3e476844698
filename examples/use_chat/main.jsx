import { useChat } from "@ai-sdk/react"
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai"
import { createRoot } from "react-dom/client"

const api = "/ai-sdk/chat"
// The chat is the session of that id. It stands in the address, so that a reload takes it up.
if (!location.hash) location.replace(`#${crypto.randomUUID()}`)
const id = location.hash.slice(1)
const messages = await (await fetch(`${api}/${id}/messages`)).json()

function Part({ part, decide }) {
  if (part.type === "text" || part.type === "reasoning") return <p className={part.type}>{part.text}</p>
  if (part.type !== "dynamic-tool") return null
  return (
    <div className="tool">
      <b>{part.toolName}</b> <code>{JSON.stringify(part.input)}</code>
      {part.state === "output-available" && <details><summary>result</summary>{String(part.output)}</details>}
      {part.state === "output-error" && <p className="error">{part.errorText}</p>}
      {part.state === "output-denied" && <p>denied</p>}
      {part.state === "approval-requested" && (
        <p>
          <button onClick={() => decide({ id: part.approval.id, approved: true })}>Allow</button>{" "}
          <button onClick={() => decide({ id: part.approval.id, approved: false })}>Deny</button>
        </p>
      )}
    </div>
  )
}

function Page() {
  const chat = useChat({
    id,
    messages,
    resume: true,
    transport: new DefaultChatTransport({ api, headers: { "x-ai-sdk": "7" } }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  })
  const busy = chat.status === "submitted" || chat.status === "streaming"
  const ask = (event) => {
    event.preventDefault()
    chat.sendMessage({ text: new FormData(event.target).get("text") })
    event.target.reset()
  }
  const stop = () => {
    chat.stop() // closes the connection alone: the turn ends by the request
    fetch(`${api}/${id}/stop`, { method: "POST" })
  }
  return (
    <>
      {chat.messages.map((message) => (
        <div key={message.id} className={message.role}>
          {message.parts.map((part, at) => <Part key={at} part={part} decide={chat.addToolApprovalResponse} />)}
        </div>
      ))}
      {chat.error && <p className="error">{chat.error.message}</p>}
      <form onSubmit={ask}>
        <input name="text" placeholder="How do I resume a stream? And what is 17*23?" required autoFocus />
        {busy ? <button type="button" onClick={stop}>Stop</button> : <button>Send</button>}
      </form>
    </>
  )
}

createRoot(document.getElementById("page")).render(<Page />)
