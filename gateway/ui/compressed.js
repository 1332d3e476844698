// Older messages that were archived: how that went, and the summary that stands in their place.

import { download } from "./api.js";
import { button, make, save } from "./dom.js";
import { fill, inWords, language, words } from "./words.js";

const MAX_SHOWN = 500; // messages of one archive; the file has them all

export const count = (number) => number.toLocaleString(language);

// The versions that make up the one in force, the oldest first.
export function chainOf({ active, versions }) {
  const known = new Map(versions.map((version) => [version.version, version]));
  const chain = [];
  for (let version = known.get(active); version; version = known.get(version.parent)) chain.unshift(version);
  return chain;
}

export class CompressionCard {
  constructor() {
    this.root = make("p", "note compression");
  }

  // `data` of a compression event.
  tell({ phase, covers, tokens_before: before, tokens_after: after, reason = "" }) {
    this.root.classList.toggle("running", phase === "started");
    this.root.classList.toggle("trouble", phase === "failed");
    if (phase === "started") {
      this.root.textContent = words.compressing;
    } else if (phase === "completed") {
      this.root.textContent = [
        covers ? fill(words.archivedRange, { first: covers.first, last: covers.last }) : words.compressed,
        before && after ? fill(words.fewerTokens, { before: count(before), after: count(after) }) : "",
      ].filter(Boolean).join(words.comma);
    } else {
      const [, code, message] = reason.match(/^(\w+): (.*)$/s) ?? [null, "", reason];
      this.root.textContent = `${words.notCompressed} ${inWords({ code, message })}`;
    }
  }
}

// What stands for the messages of `versions`: their summary, and the way to the originals. `draw(parent,
// messages)` draws messages.
export function earlierMessages(text, session, versions, draw) {
  const originals = versions.map((version) => original(session, version, draw));
  return make("details", "step earlier", make("summary", "", make("b", "", words.earlier)),
    make("p", "", words.earlierHint), make("div", "originals", ...originals), make("div", "told", ...told(text)));
}

// The sections of a wrapped summary, without the wrapper and its note.
function told(text) {
  const elements = [];
  for (const line of text.replace(/\n<\/conversation_summary>\s*$/, "").split("\n").slice(3)) {
    if (line.startsWith("## ")) elements.push(make("h3", "", line.slice(3)), make("ul"));
    else if (line && elements.length) elements.at(-1).append(make("li", "", line.replace(/^- /, "")));
  }
  return elements;
}

function original(session, { version, from_position: first, to_position: last }, draw) {
  const path = `/api/sessions/${session}/compressions/${version}/archive`;
  const label = fill(words.range, { first, last });
  const trouble = make("span", "why");
  const tried = async (act) => {
    trouble.textContent = "";
    try {
      await act(await download(path));
    } catch (error) {
      trouble.textContent = inWords(error);
    }
  };
  const link = make("a", "", `${label} ${words.asFile}`);
  link.href = path;
  link.addEventListener("click", (event) => {
    event.preventDefault(); // a link of its own sends no key, and keeps an error as a file
    tried((file) => save(file, `${session}-${version}.jsonl.gz`));
  });
  const place = make("div", "originals-shown");
  const show = button(words.showHere, async () => {
    await tried(async (file) => draw(place, await messagesIn(file)));
    show.disabled = false;
    show.hidden = place.childElementCount > 0;
  });
  show.setAttribute("aria-label", `${words.showHere}: ${label}`);
  return make("div", "original", link, " ", show, " ", trouble, place);
}

// The last messages of an archive, which is JSON, one a line, zipped in parts.
async function messagesIn(file) {
  const zipped = new Uint8Array(await file.arrayBuffer());
  const lines = [];
  for (const part of partsOf(zipped).reverse()) {
    if (lines.length >= MAX_SHOWN) break;
    const unzipped = new Blob([part]).stream().pipeThrough(new DecompressionStream("gzip"));
    const text = await new Response(unzipped).text().catch((error) => {
      throw Object.assign(error, { code: "archive_damaged" });
    });
    lines.unshift(...text.trimEnd().split("\n"));
  }
  return lines.slice(-MAX_SHOWN).map((line) => JSON.parse(line));
}

// A browser unzips one gzip member at a time. All of a file's begin with the same ten bytes.
function partsOf(zipped) {
  const head = zipped.subarray(0, 10);
  const starts = [];
  for (let at = 0; at !== -1; at = zipped.indexOf(head[0], at + 1)) {
    if (head.every((byte, index) => zipped[at + index] === byte)) starts.push(at);
  }
  return starts.map((start, index) => zipped.subarray(start, starts[index + 1]));
}
