/**
 * Markdown of a model, as elements. What it says becomes text and elements of the kinds below, never markup: HTML in it
 * is shown as it was written, but for a few tags without attributes (marks.ts), links lead to http, https and mail addresses alone, and no image is loaded.
 */

import type { Definition, FootnoteDefinition, ListItem, Nodes, PhrasingContent, RootContent, Table } from "mdast";
import { createContext, memo, type ReactNode, use, useId, useMemo, useState } from "react";
import { useWords } from "../../state";
import { MOST, LeftOut } from "../LeftOut";
import { LongText } from "../LongText";
import { words as table } from "../conversation-words";
import { cut, Definitions, footnotes, topHeading, type Block, type Cut } from "./blocks";
import { CodeBlock } from "./CodeBlock";
import { Formula } from "./Formula";
import { linkTo } from "./links";
import type { Details as DetailsNode } from "./nodes";
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
  const [first, setFirst] = useState(MOST / 2);
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

const FENCE = /^(`{3,}|~{3,})[ \t]*([^\s`]*)[^\n]*\n?/;

/** A fenced code block, which is read without a parser, however long it is. */
function Fence({ source }: { source: string }) {
  const [head = "", mark = "", language = ""] = FENCE.exec(source) ?? [];
  const last = source.lastIndexOf("\n");
  const end = source.slice(last + 1).trim();
  const isClosed = last >= head.length - 1 && end.length >= mark.length && end === (mark[0] ?? "").repeat(end.length);
  return <CodeBlock code={source.slice(head.length, isClosed ? Math.max(head.length, last) : undefined)} language={language} />;
}

function ParsedBlock({ source, context }: { source: string; context: string }) {
  const tree: Tree | undefined = useTree(source, context);
  if (tree === undefined || tree === null) return <p className="plain" dir="auto"><LongText text={source} wraps grows /></p>;
  return tree.map((node, index) => <Flow key={index} node={node} />);
}

function flow(nodes: readonly RootContent[]): ReactNode {
  return nodes.map((node, index) => <Flow key={index} node={node} />);
}

function Flow({ node }: { node: RootContent }): ReactNode {
  switch (node.type) {
    case "paragraph": return <p dir="auto">{phrasing(node.children)}</p>;
    case "heading": return <Heading depth={node.depth}>{phrasing(node.children)}</Heading>;
    case "thematicBreak": return <hr />;
    case "blockquote": return <blockquote dir={directionOf(node)}>{flow(node.children)}</blockquote>;
    case "code": return <CodeBlock code={node.value} language={node.lang ?? ""} />;
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
        <InParts rows={node.children} draw={drawItem}>
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
  return nodes.map((node, index) => (node.type === "text" ? node.value : <Phrase key={index} node={node} />));
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
    case "link": return <Link url={node.url} title={node.title}>{phrasing(node.children)}</Link>;
    case "image": return <Picture url={node.url} alt={node.alt} />;
    case "footnoteReference": return <NoteMark name={node.identifier} />;
    default: return null;
  }
}

/** A link to elsewhere, or the label of one that leads nowhere from here. */
function Link({ url, title, children }: { url: string; title?: string | null | undefined; children: ReactNode }) {
  const target = linkTo(url);
  if (target === null) return <span className="label" title={url}>{children}</span>;
  return <a href={target} title={title ?? undefined} target="_blank" rel="noopener noreferrer nofollow">{children}</a>;
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
  const cells = (row: Table["children"][number], Cell: "th" | "td") => row.children.map((cell, index) => (
    <Cell key={index} className={node.align?.[index] ?? undefined} scope={Cell === "th" ? "col" : undefined}>
      {phrasing(cell.children)}
    </Cell>
  ));
  return (
    <InParts rows={rows} draw={(row, index) => <tr key={index}>{cells(row, "td")}</tr>}>
      {(drawn) => (
        <div className="table" tabIndex={0} role="group" dir={directionOf(node)}>
          <table>
            {head !== undefined && <thead><tr>{cells(head, "th")}</tr></thead>}
            <tbody>{drawn}</tbody>
          </table>
        </div>
      )}
    </InParts>
  );
}

const ROWS = 150; // that are drawn at once

interface InPartsProps<Row> {
  rows: readonly Row[];
  draw: (row: Row, index: number) => ReactNode;
  children: (drawn: ReactNode[]) => ReactNode;
}

/** The first rows of a long table or list, and a button that shows more. */
function InParts<Row>({ rows, draw, children }: InPartsProps<Row>) {
  const words = useWords(table);
  const [count, setCount] = useState(ROWS);
  return (
    <>
      {children(rows.slice(0, count).map(draw))}
      {rows.length > count && <button type="button" className="small" onClick={() => setCount(count + ROWS)}>{words.showMore} ({rows.length - count})</button>}
    </>
  );
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

function textOf(node: Nodes): string {
  if ("children" in node) return node.children.map(textOf).join("");
  return "value" in node ? node.value : "";
}
