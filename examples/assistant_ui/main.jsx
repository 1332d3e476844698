import { useChat } from "@ai-sdk/react"
import { useAISDKRuntime } from "@assistant-ui/ai-sdk"
import { AssistantRuntimeProvider, AuiIf, BranchPickerPrimitive, ActionBarPrimitive } from "@assistant-ui/react"
import { ComposerPrimitive, ErrorPrimitive, MessagePrimitive, ThreadPrimitive } from "@assistant-ui/react"
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai"
import { createRoot } from "react-dom/client"

const api = "/ai-sdk/chat"
// The chat is the session of that id. It stands in the address, so that a reload takes it up.
if (!location.hash) location.replace(`#${crypto.randomUUID()}`)
const id = location.hash.slice(1)
const messages = await (await fetch(`${api}/${id}/messages`)).json()
const stop = () => fetch(`${api}/${id}/stop`, { method: "POST" }) // the button alone only closes the connection

const Text = ({ text }) => <p className="text">{text}</p>
const Reasoning = ({ text }) => <p className="text"><i>{text}</i></p>

const Tool = ({ toolName, argsText, result, approval, respondToApproval }) => (
  <div className="tool">
    <b>{toolName}</b> <code>{argsText}</code>
    {result !== undefined && <details><summary>result</summary>{String(result)}</details>}
    {approval && approval.approved === undefined && (
      <p>
        <button onClick={() => respondToApproval({ approved: true })}>Allow</button>{" "}
        <button onClick={() => respondToApproval({ approved: false })}>Deny</button>
      </p>
    )}
  </div>
)

const UserMessage = () => <MessagePrimitive.Root className="user"><MessagePrimitive.Parts components={{ Text }} /></MessagePrimitive.Root>

const AssistantMessage = () => (
  <MessagePrimitive.Root>
    <MessagePrimitive.Parts components={{ Text, Reasoning, tools: { Fallback: Tool } }} />
    <MessagePrimitive.Error><ErrorPrimitive.Root><ErrorPrimitive.Message /></ErrorPrimitive.Root></MessagePrimitive.Error>
    <ActionBarPrimitive.Root hideWhenRunning>
      <ActionBarPrimitive.Reload>Ask again</ActionBarPrimitive.Reload>{" "}
      <BranchPickerPrimitive.Root hideWhenSingleBranch>
        <BranchPickerPrimitive.Previous>‹</BranchPickerPrimitive.Previous>
        <BranchPickerPrimitive.Number />/<BranchPickerPrimitive.Count />
        <BranchPickerPrimitive.Next>›</BranchPickerPrimitive.Next>
      </BranchPickerPrimitive.Root>
    </ActionBarPrimitive.Root>
  </MessagePrimitive.Root>
)

function Page() {
  const chat = useChat({
    id,
    messages,
    resume: true,
    transport: new DefaultChatTransport({ api, headers: { "x-ai-sdk": "7" } }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  })
  return (
    <AssistantRuntimeProvider runtime={useAISDKRuntime(chat)}>
      <ThreadPrimitive.Root>
        <ThreadPrimitive.Viewport>
          <ThreadPrimitive.Messages components={{ UserMessage, AssistantMessage }} />
        </ThreadPrimitive.Viewport>
        <ComposerPrimitive.Root className="composer">
          <ComposerPrimitive.Input placeholder="How do I resume a stream? And what is 17*23?" />
          <AuiIf condition={(state) => !state.thread.isRunning}><ComposerPrimitive.Send>Send</ComposerPrimitive.Send></AuiIf>
          <AuiIf condition={(state) => state.thread.isRunning}><ComposerPrimitive.Cancel onClick={stop}>Stop</ComposerPrimitive.Cancel></AuiIf>
        </ComposerPrimitive.Root>
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  )
}

createRoot(document.getElementById("page")).render(<Page />)
