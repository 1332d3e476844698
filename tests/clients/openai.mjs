// A program with the package openai: `BASE_URL STEPS`. STEPS is a JSON array of what it does, each followed by a line.
// The conversation is kept here, and sent whole each time.
//   {say: "text", stream?, tools?, usage?}   the answer: {content, finish, usage, session}
//   {anew: true}    the last answer is thrown away and asked for once more
//   {models: true}  their ids
// What the SDK raises is {error, code, param, status}.
import process from "node:process"
import OpenAI from "openai"

const [baseURL, steps] = process.argv.slice(2)
const api = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 })
const messages = []
const parameters = { type: "object", properties: {} }
const title = { name: "page_title", description: "The title of the page.", parameters, function: () => '{"title":"Home"}' }

async function ask({ stream, tools, usage }) {
  const body = { model: "demo-model", messages, ...(usage ? { stream_options: { include_usage: true } } : {}) }
  if (tools) {
    const runner = api.chat.completions.runTools({ ...body, stream, tools: [{ type: "function", function: title }] })
    const completion = await runner.finalChatCompletion()
    messages.splice(0, messages.length, ...runner.messages)
    return { content: completion.choices[0].message.content, finish: completion.choices[0].finish_reason }
  }
  const request = stream ? api.chat.completions.stream(body) : api.chat.completions.create(body)
  const completion = stream ? await request.finalChatCompletion() : await request
  const { message, finish_reason: finish } = completion.choices[0]
  messages.push({ role: "assistant", content: message.content })
  return { content: message.content, finish, usage: completion.usage }
}

for (const step of JSON.parse(steps)) {
  let told
  try {
    if (step.models) {
      told = []
      for await (const model of api.models.list()) told.push(model.id)
    } else {
      if (step.anew) messages.pop()
      else messages.push({ role: "user", content: step.say })
      told = await ask(step)
    }
  } catch (error) {
    messages.pop()
    told = { error: error.message, code: error.code, param: error.param, status: error.status }
  }
  process.stdout.write(JSON.stringify(told) + "\n")
}
