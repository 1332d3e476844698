// What is known of a row of the waterfall.

import type { Retrieval, StepTrace } from "@chat-gateway/client";
import type { ReactNode } from "react";

import { useWords } from "../state";
import { count, duration, money, pretty } from "./numbers";
import type { ApprovalRow, CompressionRow, ModelRow, Row, ToolRow } from "./timeline";
import { tokensOf } from "./usage";
import { words as table } from "./inspector-words";

export function RowDetail({ row }: { readonly row: Row }) {
  return <div className="detail">{detailOf(row)}</div>;
}

function detailOf(row: Row): ReactNode {
  switch (row.kind) {
    case "queue": return <Stretches row={row} />;
    case "model": return <Model row={row} />;
    case "tool": return <Tool row={row} />;
    case "approval": return <Approval row={row} />;
    case "step": return <Step step={row.step} />;
    case "retrieval": return <Found data={row.data} />;
    case "compression": return <Compressed row={row} />;
    case "mark": return <pre tabIndex={0}>{pretty(row.event.data)}</pre>;
  }
}

type Value = string | number | undefined | false;

/** Names and values; what is not known is left out. */
function Facts({ facts }: { readonly facts: readonly (readonly [name: string, value: Value])[] }) {
  const known = facts.filter(([, value]) => value !== undefined && value !== false && value !== "");
  return <dl>{known.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>;
}

function Block({ name, value }: { readonly name: string; readonly value: unknown }) {
  if (value === undefined) return null;
  return <><h3>{name}</h3><pre tabIndex={0} dir="auto">{pretty(value)}</pre></>;
}

function Stretches({ row }: { readonly row: Row }) {
  const words = useWords(table);
  return <Facts facts={row.segments.map(({ kind, from, to }) => [words.segments[kind], duration(to - from)])} />;
}

function Model({ row }: { readonly row: ModelRow }) {
  const words = useWords(table);
  const { fields, classes } = words;
  const { end, usage } = row;
  const tokens = usage && tokensOf(usage);
  return (
    <>
      <Facts facts={[
        [fields.model, end?.model ?? row.model], [fields.reason, row.reason], [fields.stop, end?.stop_reason],
        [fields.cost, row.state === "running" || row.state === "superseded" ? undefined : end?.cost === undefined ? words.unknown : money(end.cost)],
        ...(tokens ? [
          [classes.input, count(tokens.input)], [classes.cacheRead, count(tokens.cacheRead)],
          [classes.cacheWrite, count(tokens.cacheWrite)], [classes.output, count(tokens.output)],
        ] as const : row.state === "running" ? [] : [[fields.tokens, words.unknown]] as const),
        [fields.answerId, end?.response_id],
      ]} />
      <Stretches row={row} />
    </>
  );
}

function Tool({ row: { call, result, id } }: { readonly row: ToolRow }) {
  const { fields } = useWords(table);
  return (
    <>
      <Facts facts={[
        [fields.status, result?.status], [fields.effect, call?.effect], [fields.runsOn, call?.runs_on], [fields.artifact, result?.artifact],
        [fields.duration, result && duration(result.duration_ms)], [fields.callId, id],
      ]} />
      <Block name={fields.arguments} value={call?.arguments} />
      <Block name={fields.result} value={result?.content} />
    </>
  );
}

function Approval({ row }: { readonly row: ApprovalRow }) {
  const { fields } = useWords(table);
  const { request, response } = row;
  return (
    <>
      <Facts facts={[
        [fields.waited, duration(row.to - row.from)], [fields.decision, response?.decision], [fields.by, response?.by],
        [fields.scope, response?.scope], [fields.reason, response?.reason ?? request?.reason],
      ]} />
      <Block name={fields.edited} value={response?.arguments} />
    </>
  );
}

function Step({ step }: { readonly step: StepTrace }) {
  const { fields } = useWords(table);
  return (
    <>
      <Facts facts={[[fields.duration, duration(step.duration_ms)], [fields.error, step.error]]} />
      <Block name={fields.input} value={step.input} />
      <Block name={fields.output} value={step.output} />
    </>
  );
}

function Compressed({ row: { data } }: { readonly row: CompressionRow }) {
  const { fields } = useWords(table);
  return (
    <Facts facts={[
      [fields.status, data.phase], [fields.trigger, data.trigger], [fields.version, data.version], [fields.model, data.model],
      [fields.covers, data.covers && `${data.covers.first}–${data.covers.last}`],
      [fields.before, data.tokens_before !== undefined && count(data.tokens_before)],
      [fields.after, data.tokens_after !== undefined && count(data.tokens_after)], [fields.reason, data.reason],
    ]} />
  );
}

// What was found, with its place by words and by meaning; and what was left out, and why.
function Found({ data }: { readonly data: Retrieval }) {
  const words = useWords(table);
  const { fields } = words;
  const titles = new Map(data.results.map(({ id, title }) => [id, title]));
  return (
    <>
      <Facts facts={[
        [fields.query, data.query], [fields.source, data.source], [fields.tokens, count(data.tokens)], [fields.notes, data.notes?.join(" ")],
      ]} />
      {data.degraded === true && <p className="warn">{words.degraded}</p>}
      <div className="wide" tabIndex={0} role="region" aria-label={words.found}>
        <table>
          <thead>
            <tr>{[words.title2, words.byWords, words.byMeaning, words.score, words.freshness, words.shown].map((name) => <th key={name} scope="col">{name}</th>)}</tr>
          </thead>
          <tbody>
            {data.results.map((hit, place) => (
              <tr key={place}>
                <th scope="row" title={hit.snippet}>{hit.title ?? shortened(hit.snippet)}<br /><code>{hit.id}</code></th>
                <td>{hit.lexical_rank ?? "–"}</td>
                <td>{hit.vector_rank ?? "–"}</td>
                <td>{Number(hit.score.toPrecision(3))}</td>
                <td>{hit.freshness === undefined ? "–" : hit.freshness.toFixed(2)}</td>
                <td>{[hit.form && words.forms[hit.form], hit.told === "before" && words.toldBefore].filter(Boolean).join(", ") || "–"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {data.omitted !== undefined && <p>{words.omitted(count(data.omitted))}</p>}
      {data.omissions && (
        <ul>{data.omissions.map(({ id, reason }) => <li key={id}><code>{titles.get(id) ?? id}</code>: {words.omissions[reason]}</li>)}</ul>
      )}
    </>
  );
}

function shortened(text: string): string {
  return text.length > 90 ? `${text.slice(0, 89)}…` : text;
}
