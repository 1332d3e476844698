import { HttpAgent } from "@ag-ui/client"
import { CopilotRuntime } from "@copilotkit/runtime/v2"
import { createCopilotNodeListener } from "@copilotkit/runtime/v2/node"

const url = `${process.env.GATEWAY_URL ?? "http://127.0.0.1:8000"}/ag-ui`
const headers = { authorization: `Bearer ${process.env.GATEWAY_KEY ?? "none"}` }

class Gateway extends HttpAgent {
  abortRun() {
    // Closes the connection alone: the turn ends by the request.
    const body = JSON.stringify({ threadId: this.threadId })
    fetch(`${url}/stop`, { method: "POST", headers: { ...headers, "content-type": "application/json" }, body })
    super.abortRun()
  }
}

// CopilotKit's own server part, between the page and the gateway; here in the process that serves the page.
const basePath = "/api/copilotkit"
const runtime = new CopilotRuntime({ agents: { default: new Gateway({ url, headers }) } })
const listener = createCopilotNodeListener({ runtime, basePath })
const configureServer = ({ middlewares }) => {
  middlewares.use((request, response, next) => (request.url.startsWith(basePath) ? listener(request, response) : next()))
}

export default { plugins: [{ name: "copilotkit-runtime", configureServer }] }
