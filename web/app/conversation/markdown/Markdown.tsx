/**
 * Markdown of a model, as elements. What it says becomes text and elements of the kinds below, never markup: HTML in it
 * is shown as it was written, but for a few tags without attributes (marks.ts), links lead to http, https and mail addresses alone, and no image is loaded.
 */

import type { Definition, FootnoteDefinition, ListItem, Nodes, PhrasingContent, RootContent, Table } from "mdast";
import { createContext, memo, type ReactNode, use, useId, useMemo, useState } from "react";
import { useWords } from "../../state";
import { MOST, LeftOut } from "../LeftOut";
import { GrowingText } from "../GrowingText";
import { usePrinting } from "../printing";
import { LongText } from "../LongText";
import { words as table } from "../conversation-words";
import { cut, Definitions, footnotes, topHeading, type Block, type Cut } from "./blocks";
import { CodeBlock } from "./CodeBlock";
import { Formula } from "./Formula";
import { linkTo } from "./links";
import { type Details as DetailsNode, ROWS } from "./nodes";
import { TableActions } from "./TableActions";
import { textOf } from "./text-of";
import { type Tree, useTree } from "./trees";

interface Notes {
  /** Begins the ids of the footnotes of this text. */
  id: string;
  numbers: ReadonlyMap<string, number>;
}

const NotesContext = createContext<Notes>({ id: "", numbers: new Map() });
/** The depth that counts as the first one: a text may begin with `###`, and no level of headings is left out. */
const TopContext = createContext(1);

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const blocks = useBlocks(text);
  const definitions = useMemo(() => new Definitions(blocks), [blocks]);
  const id = useId();
  const noted = useMemo(() => [...footnotes(blocks).keys()].join("\n"), [blocks]);
  const notes = useMemo(() => ({ id, numbers: new Map(noted.split("\n").map((name, index) => [name, index + 1])) }), [id, noted]);
  const top = useMemo(() => topHeading(blocks), [blocks]);
  const [wanted, setFirst] = useState(MOST / 2);
  const first = usePrinting() ? blocks.length : wanted;
  const newest = Math.max(first, blocks.length - MOST / 2);
  const draw = (some: readonly Block[], from: number) => some.map((block, index) => (
    <BlockView key={from + index} block={block.source} fence={block.fence} context={definitions.of(block)} />
  ));
  return (
    <NotesContext value={notes}>
      <TopContext value={top}>
        {[
          ...draw(blocks.slice(0, first), 0),
          newest > first && <LeftOut key="left" count={newest - first} of={blocks.length} onMore={(more) => setFirst(first + more)} />,
          ...draw(blocks.slice(newest), newest),
        ]}
      </TopContext>
    </NotesContext>
  );
});

/** The blocks of a text that may grow: those that did not change are the same objects. */
function useBlocks(text: string): readonly Block[] {
  const [last, setLast] = useState<Cut>(() => cut(text));
  if (last.text === text) return last.blocks;
  const next = cut(text, last);
  setLast(next);
  return next.blocks;
}

interface BlockViewProps {
  block: string;
  fence: boolean;
  context: string;
}

const BlockView = memo(function BlockView({ block, fence, context }: BlockViewProps) {
  return fence ? <Fence source={block} /> : <ParsedBlock source={block} context={context} />;
});

const FENCE = /^(`{3,}|~{3,})[ \t]*([^\s`]*)([^\n]*)\n?/;

/** A fenced code block, which is read without a parser, however long it is. */
function Fence({ source }: { source: string }) {
  const [head = "", mark = "", language = "", more = ""] = FENCE.exec(source) ?? [];
  const last = source.lastIndexOf("\n");
  const end = source.slice(last + 1).trim();
  const isClosed = last >= head.length - 1 && end.length >= mark.length && end === (mark[0] ?? "").repeat(end.length);
  return <CodeBlock code={source.slice(head.length, isClosed ? Math.max(head.length, last) : undefined)} language={language} more={more.trim()} />;
}

function ParsedBlock({ source, context }: { source: string; context: string }) {
  const tree: Tree | undefined = useTree(source, context);
  if (tree === undefined || tree === null) return <p className="plain" dir="auto"><LongText text={source} wraps grows /></p>;
  return flow(tree);
}

function flow(nodes: readonly RootContent[]): ReactNode {
  const draw = (node: RootContent, index: number) => <Flow key={index} node={node} />;
  return nodes.length === 1 ? nodes.map(draw) : <InParts rows={nodes} draw={draw}>{(drawn) => drawn}</InParts>;
}

function Flow({ node }: { node: RootContent }): ReactNode {
  switch (node.type) {
    case "paragraph": return <p dir="auto">{phrasing(node.children)}</p>;
    case "heading": return <Heading depth={node.depth}>{phrasing(node.children)}</Heading>;
    case "thematicBreak": return <hr />;
    case "blockquote": return <blockquote dir={directionOf(node)}>{flow(node.children)}</blockquote>;
    case "code": return <CodeBlock code={node.value} language={node.lang ?? ""} more={node.meta ?? ""} />;
    case "math": return <Formula source={node.value} isBlock />;
    case "html": return <p className="html" dir="auto">{node.value}</p>;
    case "details": return <Details node={node} />;
    case "table": return <TableView node={node} />;
    case "footnoteDefinition": return <Footnote node={node} />;
    case "list": {
      const drawItem = (item: ListItem, index: number) => (
        <li key={index} className={typeof item.checked === "boolean" ? "task" : undefined}>
          {typeof item.checked === "boolean" && <Task isDone={item.checked} />}
          {item.children.map((child, at) => child.type === "paragraph" && node.spread !== true && item.spread !== true
            ? <Phrases key={at} nodes={child.children} /> : <Flow key={at} node={child} />)}
        </li>
      );
      return (
        <InParts rows={node.children} packed={node.packed} left={node.left} draw={drawItem}>
          {(items) => node.ordered === true ? <ol start={node.start ?? 1} dir={directionOf(node)}>{items}</ol> : <ul dir={directionOf(node)}>{items}</ul>}
        </InParts>
      );
    }
    default: return <Phrase node={node as PhrasingContent | Definition} />;
  }
}

function Details({ node }: { node: DetailsNode }) {
  const [first, ...rest] = node.children;
  const summary = first?.type === "paragraph" && first.children.length === 1 && first.children[0]?.type === "element" && first.children[0].tag === "summary"
    ? first.children[0] : null;
  return (
    <details className="folded" dir={directionOf(node)}>
      {summary !== null && <summary>{phrasing(summary.children)}</summary>}
      {flow(summary === null ? node.children : rest)}
    </details>
  );
}

function Heading({ depth, children }: { depth: number; children: ReactNode }) {
  const top = use(TopContext);
  const Element = (["h3", "h4", "h5", "h6"] as const)[Math.max(0, depth - top)] ?? "h6";
  return <Element dir="auto">{children}</Element>;
}

function Task({ isDone }: { isDone: boolean }) {
  const words = useWords(table);
  return <input type="checkbox" checked={isDone} disabled readOnly aria-label={isDone ? words.taskDone : words.taskOpen} />;
}

function phrasing(nodes: readonly PhrasingContent[]): ReactNode {
  if (nodes.length <= MANY) return nodes.map(phrase);
  const groups = Array.from({ length: Math.ceil(nodes.length / PART) }, (_, place) => nodes.slice(place * PART, (place + 1) * PART));
  return (
    <InParts rows={groups} draw={(group, place) => <span key={place} className="text-part">{group.map(phrase)}</span>}>
      {(drawn) => drawn}
    </InParts>
  );
}

function phrase(node: PhrasingContent, index: number): ReactNode {
  if (node.type !== "text") return <Phrase key={index} node={node} />;
  return node.value.length > LONG ? <LongText key={index} text={node.value} wraps /> : <GrowingText key={index} value={node.value} />;
}

function Phrases({ nodes }: { nodes: readonly PhrasingContent[] }) {
  return <>{phrasing(nodes)}</>;
}

const CHINESE = /^[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef\s\d]+$/;

function Phrase({ node }: { node: PhrasingContent | Definition }): ReactNode {
  switch (node.type) {
    case "text": return node.value;
    // Slanted Chinese letters are no emphasis: theirs are dots below.
    case "emphasis": return <em className={CHINESE.test(textOf(node)) ? "dotted" : undefined}>{phrasing(node.children)}</em>;
    case "strong": return <strong>{phrasing(node.children)}</strong>;
    case "delete": return <del>{phrasing(node.children)}</del>;
    case "inlineCode": return <code dir="ltr">{node.value}</code>;
    case "inlineMath": return <Formula source={node.value} isBlock={false} />;
    case "element": return node.tag === "summary" ? <b>{phrasing(node.children)}</b> : <node.tag>{phrasing(node.children)}</node.tag>;
    case "break": return <br />;
    case "html": return node.value;
    case "link": return <Link url={node.url} title={node.title} isBare={linkTo(textOf(node)) === linkTo(node.url)}>{phrasing(node.children)}</Link>;
    case "image": return <Picture url={node.url} alt={node.alt} />;
    case "footnoteReference": return <NoteMark name={node.identifier} />;
    default: return null;
  }
}

/** A link to elsewhere, or the label of one that leads nowhere from here. */
function Link({ url, title, isBare = false, children }: { url: string; title?: string | null | undefined; /** It is its own label. */ isBare?: boolean; children: ReactNode }) {
  const target = linkTo(url);
  if (target === null) return <span className="label" title={url}>{children}</span>;
  return <a href={target} className={isBare ? "bare" : undefined} title={title ?? undefined} target="_blank" rel="noopener noreferrer nofollow">{children}</a>;
}

/** An image is a link to it: loading it would tell its host that it was read. */
function Picture({ url, alt }: { url: string; alt?: string | null | undefined }) {
  const label = alt !== null && alt !== undefined && alt !== "" ? alt : url;
  return <Link url={url}><span className="picture">{label}</span></Link>;
}

function NoteMark({ name }: { name: string }) {
  const { id, numbers } = use(NotesContext);
  const number = numbers.get(name);
  const go = () => document.getElementById(`${id}${name}`)?.focus();
  return <sup><button type="button" className="footnote" onClick={go} aria-describedby={`${id}${name}`}>{number ?? name}</button></sup>;
}

function Footnote({ node }: { node: FootnoteDefinition }) {
  const { id, numbers } = use(NotesContext);
  return (
    <div className="footnotes" id={`${id}${node.identifier}`} role="note" tabIndex={-1} dir={directionOf(node)}>
      <span className="number">{numbers.get(node.identifier) ?? node.identifier}</span>
      <div>{flow(node.children)}</div>
    </div>
  );
}

function TableView({ node }: { node: Table }) {
  const [head, ...rows] = node.children;
  const widths = useMemo(() => widthsOf(node), [node]);
  const cells = (row: Table["children"][number], Cell: "th" | "td") => row.children.map((cell, index) => (
    <Cell key={index} className={node.align?.[index] ?? undefined} scope={Cell === "th" ? "col" : undefined} style={Cell === "th" ? widths[index] : undefined}>
      {phrasing(cell.children)}
    </Cell>
  ));
  return (
    <InParts rows={rows} packed={node.packed} left={node.left} draw={(row, index) => <tr key={index}>{cells(row, "td")}</tr>}>
      {(drawn) => (
        <>
          <div className="table" tabIndex={0} role="group" dir={directionOf(node)}>
            <table>
              {head !== undefined && <thead><tr>{cells(head, "th")}</tr></thead>}
              <tbody>{drawn}</tbody>
            </table>
          </div>
          <TableActions node={node} />
        </>
      )}
    </InParts>
  );
}

const CHINESE_LETTERS = /[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]/g;
const MOST_WIDE = 10; // letters of Chinese that a column has room for, at least

/** How wide columns are at least. Chinese may be broken behind each letter, and a browser does that before it lets a table scroll. */
function widthsOf(node: Table): ({ minWidth: string } | undefined)[] {
  const widths: number[] = [];
  for (const row of node.children.slice(0, 50)) {
    row.children.forEach((cell, index) => {
      widths[index] = Math.max(widths[index] ?? 0, textOf(cell).match(CHINESE_LETTERS)?.length ?? 0);
    });
  }
  return widths.map((width) => width > 3 ? { minWidth: `${Math.min(width, MOST_WIDE) + 1}em` } : undefined);
}

const HEAVY = 2_000; // nodes that are drawn at once: laying out 4,000 in a line takes 40 ms
const MANY = 400; // nodes of a line that are drawn without parts
const PART = 100;
const LONG = 20_000; // characters of a text that is laid out at once

interface InPartsProps<Row> {
  rows: readonly Row[];
  packed?: readonly string[] | undefined;
  left?: number | undefined;
  draw: (row: Row, index: number) => ReactNode;
  children: (drawn: ReactNode[]) => ReactNode;
}

/** The first rows of what has many, and a button that shows more. */
function InParts<Row extends Nodes | readonly Nodes[]>({ rows, packed, left = 0, draw, children }: InPartsProps<Row>) {
  const words = useWords(table);
  const [turns, setTurns] = useState(0); // how often more was asked for
  const isPrinting = usePrinting();
  const unpacked = isPrinting ? packed?.length : turns;
  const all = useMemo(() => [...rows, ...(packed ?? []).slice(0, unpacked).flatMap((part) => JSON.parse(part) as Row[])], [rows, packed, unpacked]);
  const some = useMemo(() => countOf(all, turns + 1), [all, turns]);
  const count = isPrinting ? all.length : some;
  const hidden = rows.length + left - count;
  return (
    <>
      {children(all.slice(0, count).map(draw))}
      {hidden > 0 && <button type="button" className="small" onClick={() => setTurns(turns + 1)}>{words.showMore} ({hidden})</button>}
    </>
  );
}

/** How many rows are drawn after so many turns: of each one, as many as are light enough together. */
function countOf(rows: readonly (Nodes | readonly Nodes[])[], turns: number): number {
  let count = 0;
  for (let turn = 0; turn < turns; turn += 1) {
    let weight = 0;
    const end = Math.min(rows.length, count + ROWS);
    for (const first = count; count < end; count += 1) {
      weight += weightOf(rows[count]);
      if (weight > HEAVY && count > first) break;
    }
  }
  return count;
}

function weightOf(node: Nodes | readonly Nodes[] | undefined): number {
  if (node === undefined) return 0;
  const children: readonly Nodes[] = "children" in node ? node.children : "length" in node ? node : [];
  return children.reduce((sum, child) => sum + weightOf(child), 1);
}

const RIGHT_TO_LEFT = /[\p{sc=Adlm}\p{sc=Arab}\p{sc=Hebr}\p{sc=Nkoo}\p{sc=Rohg}\p{sc=Syrc}\p{sc=Thaa}]/u;

/** That of its first letter. `dir=auto` would not look into paragraphs and cells, which have their own. */
function directionOf(node: Nodes): "ltr" | "rtl" {
  return RIGHT_TO_LEFT.test(firstLetter(node) ?? "") ? "rtl" : "ltr";
}

function firstLetter(node: Nodes): string | undefined {
  if (node.type === "text") return /\p{L}/u.exec(node.value)?.[0];
  if (!("children" in node)) return undefined;
  for (const child of node.children) {
    const found = firstLetter(child);
    if (found !== undefined) return found;
  }
  return undefined;
}
