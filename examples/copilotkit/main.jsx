import { CopilotChat, CopilotKitProvider, useDefaultRenderTool, useInterrupt } from "@copilotkit/react-core/v2"
import "@copilotkit/react-core/v2/styles.css"
import { createRoot } from "react-dom/client"

function Page() {
  useDefaultRenderTool() // the gateway's tools run there: the page only shows their calls
  useInterrupt({
    render: ({ interrupts, resolve }) => (
      <div>
        {interrupts.map(({ id, message }) => (
          <p key={id}>
            {message}{" "}
            <button onClick={() => resolve({ approved: true }, id)}>Allow</button>{" "}
            <button onClick={() => resolve({ approved: false }, id)}>Deny</button>
          </p>
        ))}
      </div>
    ),
  })
  return <CopilotChat />
}

createRoot(document.getElementById("page")).render(
  <CopilotKitProvider runtimeUrl="/api/copilotkit" enableInspector={false}>
    <Page />
  </CopilotKitProvider>,
)
