// How a turn ended, and what it took: the wait for a person is told apart from the work. What is unknown is said to be.

import type { Outcome, Turn, Usage } from "@chat-gateway/client";

import { type Speech, useSpeech } from "./speech";

export function OutcomeLine({ turn, outcome }: { readonly turn: Turn; readonly outcome: Outcome }) {
  const speech = useSpeech();
  const { words } = speech;
  const { status, usage, cost, duration_ms: duration, stop_reason: reason } = outcome;
  const { waitedMs: waited = 0 } = turn;
  if (turn.start?.seeded) return <p className="outcome seeded">{words.seeded}</p>;
  const facts = [
    status === "completed" ? "" : words.outcomes[status],
    reason === "max_tokens" ? words.cutShort : "",
    speech.seconds(Math.max(0, duration - waited)),
    waited >= 1000 ? speech.fill(words.waited, { time: speech.wait(waited / 1000) }) : "",
    tokens(outcome, speech),
    cost !== undefined ? `$${cost.toFixed(4)}` : "",
  ];
  return (
    <p className={`outcome ${status}`} title={usage && details(usage, cost, speech)}>
      <time dateTime={new Date(turn.endedAt ?? turn.startedAt).toISOString()} title={speech.time(turn.endedAt ?? turn.startedAt)}>
        {facts.filter(Boolean).join(" · ")}
      </time>
    </p>
  );
}

const all = ({ input_tokens: input, output_tokens: output, cache_read_input_tokens: read = 0, cache_creation_input_tokens: written = 0 }: Usage) =>
  input + output + read + written;

function tokens({ usage, usage_unreported: unreported = 0 }: Outcome, speech: Speech): string {
  if (!usage) return "";
  const text = speech.counted("token", all(usage));
  return unreported > 0 ? speech.fill(speech.words.atLeast, { count: text }) : text;
}

// What was used, for those who ask by pointing at it; also that nobody knows what it cost.
function details(usage: Usage, cost: number | undefined, speech: Speech): string {
  const used = speech.fill(speech.words.usage, {
    input: speech.number(usage.input_tokens), output: speech.number(usage.output_tokens),
    read: speech.number(usage.cache_read_input_tokens ?? 0), written: speech.number(usage.cache_creation_input_tokens ?? 0),
  });
  return cost === undefined ? `${used} · ${speech.words.costUnknown}` : used;
}
