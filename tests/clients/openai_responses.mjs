// A program with the package openai: `BASE_URL STEPS`. STEPS is a JSON array of what it does, each followed by a line.
//   {say: "text", stream?, tools?, background?}   the response, after the one before
//   {give: "text"}         what the last response asks for: results of its calls, and consent
//   {read: N}              the last response from the event N on: {status, numbers, output}
//   {stop: true}           begins a response in the background and stops it
// A response is {status, text, types, error}; what the SDK raises is {error, code, param, status}.
import process from "node:process"
import OpenAI from "openai"

const [baseURL, steps] = process.argv.slice(2)
const api = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 })
const model = "demo-model"
const parameters = { type: "object", properties: {} }
const title = { type: "function", name: "page_title", description: "The title of the page.", parameters, strict: false }
let last

async function ask(input, { stream, tools, background }) {
  const body = { model, input, previous_response_id: last?.id, tools: tools ? [title] : undefined, background }
  if (!stream) return api.responses.create(body)
  return api.responses.stream(body).finalResponse()
}

function answers(text) {
  return last.output.flatMap((item) => {
    if (item.type === "function_call") return [{ type: "function_call_output", call_id: item.call_id, output: text }]
    if (item.type === "mcp_approval_request")
      return [{ type: "mcp_approval_response", approval_request_id: item.id, approve: true }]
    return []
  })
}

async function read(starting_after) {
  const numbers = []
  let final
  for await (const event of await api.responses.retrieve(last.id, { stream: true, starting_after })) {
    numbers.push(event.sequence_number)
    final = event.response ?? final
  }
  const same = JSON.stringify(final) === JSON.stringify(await api.responses.retrieve(last.id).then(plain))
  return { numbers, same }
}

const plain = ({ output_text: _, ...response }) => response

for (const step of JSON.parse(steps)) {
  let told
  try {
    if (step.read !== undefined) told = await read(step.read)
    else {
      if (step.stop) {
        const begun = await ask(step.stop, { background: true })
        last = await api.responses.cancel(begun.id)
      } else last = await ask(step.give === undefined ? step.say : answers(step.give), step)
      const { status, output_text: text, output, error } = last
      told = { status, text, types: output.map((item) => item.type), error: error?.type }
    }
  } catch (error) {
    told = { error: error.message, code: error.code, param: error.param, status: error.status }
  }
  process.stdout.write(JSON.stringify(told) + "\n")
}
