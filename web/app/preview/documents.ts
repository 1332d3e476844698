// What is sent into the frame: a whole document for each kind. It runs in an origin of its own that reaches nothing
// (PREVIEW_POLICY of the gateway), so that nothing of it has to be taken out.

import type { PreviewKind } from "./previewed";

// The policy has no word for WebRTC, which asks servers by packets of its own. Its constructors are taken away, and so is
// every frame within, as that would have others: before it has loaded, which takes longer than an observer.
const NO_PACKETS = `<script>{
  for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection"]) Object.defineProperty(window, name, { value: undefined });
  const look = (root) => root.querySelectorAll("iframe, frame, object, embed, fencedframe").forEach((each) => each.remove());
  const observer = new MutationObserver((changes) => new Set(changes.map(({ target }) => target.getRootNode())).forEach(look));
  const watch = (root) => observer.observe(root, { childList: true, subtree: true });
  const attach = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function (init) {
    const root = attach.call(this, init);
    watch(root);
    return root;
  };
  // These make roots that nobody can look into.
  for (const [owner, name] of [[Element.prototype, "setHTMLUnsafe"], [ShadowRoot.prototype, "setHTMLUnsafe"], [Document, "parseHTMLUnsafe"]]) Object.defineProperty(owner, name, { value: undefined });
  document.write = document.writeln = (...parts) => document.body?.insertAdjacentHTML("beforeend", parts.join(""));
  watch(document);
}</script>`;

// A link would lead the frame to where it may not go, and leave it empty; one within the document scrolls to its place.
const LINKS = `<script>
addEventListener("click", (event) => {
  const target = event.target instanceof Element && event.target.closest("a[href], area[href]");
  if (!target) return;
  event.preventDefault();
  const href = target.getAttribute("href");
  if (href.startsWith("#")) document.getElementById(decodeURIComponent(href.slice(1)))?.scrollIntoView();
}, true);
</script>`;
const [LEAST, MOST] = [0.8, 1.4]; // of its size, of a diagram whose letters have 16 pixels
const HEAD = `<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">${NO_PACKETS}`;
const CENTRED = "<style>body { margin: 16px; display: grid; place-items: safe center; min-height: calc(100vh - 32px); } svg { max-width: 100%; height: auto; }</style>";

// Of shadow roots that the parser makes nobody hears.
const withoutHiddenRoots = (text: string): string => text.replaceAll(/shadowrootmode/gi, "data-root");
const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
const asScript = (code: string): string => `<script>${code.replaceAll("</script", "<\\/script")}</script>`;
const asText = (value: string): string => JSON.stringify(value).replaceAll("<", "\\u003c");

export interface Drawing {
  readonly isDark: boolean;
  /** What a diagram that has a fault says before the fault. */
  readonly noDiagram: string;
}

export async function documentOf(kind: Exclude<PreviewKind, "markdown">, text: string, drawing: Drawing): Promise<string> {
  if (kind === "html") return `${HEAD}${LINKS}${withoutHiddenRoots(text)}`; // a doctype of its own that follows changes nothing
  if (kind === "svg") return `${HEAD}${LINKS}${CENTRED}${withoutHiddenRoots(text.replace(/^\s*<\?xml[^>]*\?>/, ""))}`;
  return diagram(text, await library(), drawing);
}

function diagram(text: string, code: string, { isDark, noDiagram }: Drawing): string {
  const colours = isDark ? "color-scheme: dark; background: #1c1f23; color: #e5e4e0" : "background: #fff; color: #23262b";
  return `${HEAD}${CENTRED}<style>:root { ${colours}; font: 15px/1.5 system-ui, sans-serif; } pre { white-space: pre-wrap; overflow-wrap: anywhere; }</style>
<div id="drawing"></div><div id="fault" role="alert" hidden><p>${escaped(noDiagram)}</p><pre></pre></div>${asScript(code)}${asScript(`
mermaid.initialize({ startOnLoad: false, securityLevel: "strict", theme: ${isDark ? '"dark"' : '"default"'} });
// As wide as the panel is, but its letters neither too small to be read nor large: what is wider is scrolled to.
function fit() {
  const svg = document.querySelector("#drawing svg"), width = svg.viewBox.baseVal.width;
  if (width > 0) Object.assign(svg.style, { maxWidth: "none", width: Math.min(Math.max((innerWidth - 48) / width, ${LEAST}), ${MOST}) * width + "px" });
}
mermaid.render("diagram", ${asText(text)}).then(({ svg }) => { document.querySelector("#drawing").innerHTML = svg; fit(); addEventListener("resize", fit); }, (error) => {
  document.querySelector("#ddiagram")?.remove(); // what it had begun to draw
  document.querySelector("#fault").hidden = false;
  document.querySelector("#fault pre").textContent = error.message ?? String(error);
});`)}`;
}

let code: Promise<string> | null = null;

// It draws in the frame, where the page's own scripts are not: its text goes there with the diagram.
function library(): Promise<string> {
  code ??= import("@mermaid-js/tiny/dist/mermaid.tiny.js?url").then(({ default: address }) => fetch(address)).then((response) => {
    if (!response.ok) throw new Error(response.statusText);
    return response.text();
  }).catch((error: unknown) => {
    code = null;
    throw error;
  });
  return code;
}
