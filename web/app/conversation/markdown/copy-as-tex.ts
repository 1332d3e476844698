/** A formula that is selected and copied is its TeX: of the signs that are drawn nothing could be made again. */

const formulaOf = (node: Node): Element | null => (node instanceof Element ? node : node.parentElement)?.closest("[data-tex]") ?? null;

function copyAsTex(event: ClipboardEvent): void {
  const selection = getSelection();
  if (selection === null || selection.isCollapsed || selection.rangeCount === 0 || event.clipboardData === null) return;
  const range = selection.getRangeAt(0).cloneRange();
  const first = formulaOf(range.startContainer);
  const last = formulaOf(range.endContainer);
  if (first !== null) range.setStartBefore(first);
  if (last !== null) range.setEndAfter(last);
  const copied = document.createElement("div");
  copied.append(range.cloneContents());
  const formulas = copied.querySelectorAll<HTMLElement>("[data-tex]");
  if (formulas.length === 0) return;
  const html = new XMLSerializer().serializeToString(copied);
  for (const formula of formulas) {
    const tex = formula.dataset.tex ?? "";
    formula.textContent = formula.tagName === "DIV" ? `$$\n${tex}\n$$` : `$${tex}$`;
  }
  // Only what is laid out says where its lines end.
  copied.className = "prose";
  Object.assign(copied.style, { position: "fixed", insetInlineStart: "-10000px", whiteSpace: "pre-line" });
  document.body.append(copied);
  event.clipboardData.setData("text/plain", copied.innerText);
  event.clipboardData.setData("text/html", html);
  copied.remove();
  event.preventDefault();
}

if (typeof document !== "undefined") document.addEventListener("copy", copyAsTex);
