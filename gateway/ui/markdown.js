// A small, safe Markdown: paragraphs, headings, lists, quotes, tables, code, bold, italics, links.
// It builds nodes and never markup, and touches only the blocks that changed since the last call, so that a
// growing answer keeps its selection and costs little.

import { make } from "./dom.js";
import { words } from "./words.js";

export function renderMarkdown(parent, text) {
  const sources = splitBlocks(text);
  sources.forEach((source, index) => {
    const shown = parent.children[index];
    if (shown?.source === source) return;
    const block = renderBlock(source);
    block.source = source;
    if (shown) shown.replaceWith(block);
    else parent.append(block);
  });
  while (parent.children.length > sources.length) parent.lastChild.remove();
}

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;
const HEADING = /^(#{1,6})\s+(.*)$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const QUOTE = /^>\s?/;
const RULE = /^ {0,3}([-*_])(\s*\1){2,}\s*$/;
const TABLE_RULE = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

// A long line was broken by an editor, a short one on purpose.
const WRAPPED = /([^\n]{60,})\n(?=\S)/g;

function splitBlocks(text) {
  const blocks = [];
  let current = [];
  let fence = null;
  const close = () => {
    if (current.length) blocks.push(current.join("\n"));
    current = [];
  };
  for (const line of text.split("\n")) {
    const mark = line.match(FENCE)?.[1];
    if (fence) {
      current.push(line);
      if (mark && mark[0] === fence[0] && mark.length >= fence.length && line.trim() === mark) {
        fence = null;
        close();
      }
    } else if (mark) {
      close();
      fence = mark;
      current.push(line);
    } else if (!line.trim()) {
      close();
    } else {
      if (HEADING.test(line) || RULE.test(line) || startsOther(current[0], line)) close();
      current.push(line);
      if (HEADING.test(line)) close();
    }
  }
  close();
  return blocks;
}

// A list or quote right under a paragraph is a block of its own.
function startsOther(first, line) {
  if (first === undefined) return false;
  if (ITEM.test(line)) return !ITEM.test(first);
  return QUOTE.test(line) !== QUOTE.test(first);
}

function renderBlock(source) {
  const lines = source.split("\n");
  const fence = lines[0].match(FENCE);
  if (fence) return renderCode(lines, fence);
  const heading = source.match(HEADING);
  if (heading) return withInline(make(`h${Math.min(heading[1].length + 2, 6)}`), heading[2]);
  if (RULE.test(source)) return make("hr");
  if (ITEM.test(lines[0])) return renderList(lines);
  if (QUOTE.test(lines[0])) {
    const quote = make("blockquote");
    renderMarkdown(quote, lines.map((line) => line.replace(QUOTE, "")).join("\n"));
    return quote;
  }
  if (lines.length > 1 && lines[0].includes("|") && TABLE_RULE.test(lines[1])) return renderTable(lines);
  return withInline(make("p"), source.replace(WRAPPED, "$1 "));
}

function renderCode(lines, [, mark, tongue]) {
  const last = lines.at(-1).trim();
  const closed = lines.length > 1 && last.startsWith(mark) && !last.replaceAll(mark[0], "");
  const code = lines.slice(1, closed ? -1 : undefined).join("\n");
  const copy = make("button", "copy", words.copy);
  copy.type = "button";
  copy.addEventListener("click", async () => {
    await navigator.clipboard?.writeText(code);
    copy.textContent = words.copied;
  });
  return make("div", "code", make("div", "code-head", make("span", "", tongue), copy), make("pre", "", make("code", "", code)));
}

function renderList(lines) {
  const root = make(/^\s*\d/.test(lines[0]) ? "ol" : "ul");
  if (root.tagName === "OL") root.start = Number.parseInt(lines[0], 10);
  const levels = [{ indent: 0, list: root }];
  let item = null;
  for (const line of lines) {
    const match = line.match(ITEM);
    if (!match) {
      if (item) withInline(item, `\n${line.trim()}`);
      continue;
    }
    const indent = match[1].length;
    while (levels.length > 1 && indent < levels.at(-1).indent) levels.pop();
    if (item && indent > levels.at(-1).indent + 1) {
      const list = make(/\d/.test(match[2]) ? "ol" : "ul");
      item.append(list);
      levels.push({ indent, list });
    }
    item = withInline(make("li"), match[3]);
    levels.at(-1).list.append(item);
  }
  return root;
}

function renderTable([head, , ...rows]) {
  const cells = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
  const row = (line, tag) => make("tr", "", ...cells(line).map((cell) => withInline(make(tag), cell)));
  const table = make("table", "", make("thead", "", row(head, "th")), make("tbody", "", ...rows.map((line) => row(line, "td"))));
  return make("div", "table", table);
}

const INLINE = /(`+)([^`]|[^`].*?[^`])\1(?!`)|\*\*(?=\S)(.+?\S?)\*\*|(?<![\w*])[*_](?=[^\s*_])(.+?)(?<=[^\s])[*_](?![\w*])|\[([^\]\n]+)\]\((\S+?)\)|(https?:\/\/[^\s<>()"'，。；）】」]+)/s;

function withInline(parent, text) {
  let rest = text;
  for (let match = rest.match(INLINE); match; match = rest.match(INLINE)) {
    parent.append(rest.slice(0, match.index));
    const [whole, ticks, code, bold, italic, label, target, bare] = match;
    if (ticks) parent.append(make("code", "", code.trim() || code));
    else if (bold) parent.append(withInline(make("strong"), bold));
    else if (italic) parent.append(withInline(make("em"), italic));
    else if (label) parent.append(link(target, label) ?? whole);
    else parent.append(link(bare, bare) ?? whole);
    rest = rest.slice(match.index + whole.length);
  }
  parent.append(rest);
  return parent;
}

function link(target, label) {
  if (!/^https?:\/\//i.test(target)) return null;
  const anchor = make("a", "", label);
  anchor.href = target;
  anchor.rel = "noopener noreferrer nofollow";
  anchor.target = "_blank";
  return anchor;
}
