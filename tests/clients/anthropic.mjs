// A program with the package @anthropic-ai/sdk: `BASE_URL STEPS`. STEPS is a JSON array of what it does, each followed
// by a line. The conversation is kept here, and sent whole each time.
//   {say: "text", stream?, tools?, beta?}   the answer: {content, stop, kinds, usage}; with `beta` of the SDK's beta client
//   {anew: true}    the last answer is thrown away and asked for once more
//   {models: true}  their ids
//   {count: "text"} its tokens
// What the SDK raises is {error, name, type, status, request}.
import process from "node:process"
import Anthropic from "@anthropic-ai/sdk"

const [baseURL, steps] = process.argv.slice(2)
const api = new Anthropic({ baseURL, apiKey: "none", maxRetries: 0 })
const messages = []
const schema = { type: "object", properties: {} }
const title = { name: "page_title", description: "The title of the page.", input_schema: schema }

async function answer(body, stream, { messages: client }) {
  const message = stream ? await client.stream(body).finalMessage() : await client.create(body)
  messages.push({ role: "assistant", content: message.content })
  return message
}

async function ask({ stream, tools, beta }) {
  const client = beta ? api.beta : api
  const body = { model: "demo-model", max_tokens: 100, messages, ...(tools ? { tools: [title] } : {}) }
  if (beta) body.betas = ["mcp-client-2025-11-20"]
  let message = await answer(body, stream, client)
  while (message.stop_reason === "tool_use") {
    const calls = message.content.filter((block) => block.type === "tool_use")
    const content = calls.map((call) => ({ type: "tool_result", tool_use_id: call.id, content: "Home" }))
    messages.push({ role: "user", content })
    message = await answer(body, stream, client)
  }
  const content = message.content.filter((block) => block.type === "text").map((block) => block.text)
  const kinds = message.content.map((block) => block.type)
  return { content: content.join(""), stop: message.stop_reason, kinds, usage: message.usage }
}

for (const step of JSON.parse(steps)) {
  const length = messages.length
  let told
  try {
    if (step.models) {
      told = []
      for await (const model of api.models.list()) told.push(model.id)
    } else if (step.count) {
      const asked = [{ role: "user", content: step.count }]
      told = (await api.messages.countTokens({ model: "demo-model", messages: asked })).input_tokens
    } else {
      if (step.anew) messages.pop()
      else messages.push({ role: "user", content: step.say })
      told = await ask(step)
    }
  } catch (error) {
    messages.length = length
    const { message, type, status, requestID } = error
    told = { error: message, name: error.constructor.name, type, status, request: requestID }
  }
  process.stdout.write(JSON.stringify(told) + "\n")
}
