// The page and the gateway under one origin, as a proxy in front of both has it. An object here, as the short form
// changes the host, and the gateway takes the page for one of another origin then.
const target = process.env.GATEWAY_URL ?? "http://127.0.0.1:8000"
export default { server: { proxy: { "/ai-sdk": { target } } } }
