// Thumbs for an answer, with a reason for those who give one.

import type { Turn } from "@chat-gateway/client";
import { ThumbsDown, ThumbsUp } from "lucide-react";
import { type SyntheticEvent, useId, useState } from "react";

import { announce, client } from "../state";
import { Trouble } from "./ActionButton";
import { useSpeech } from "./speech";

type Rating = "up" | "down" | "none";

export function Feedback({ session, turn }: { readonly session: string; readonly turn: Turn }) {
  const speech = useSpeech();
  const { words } = speech;
  const id = useId();
  const [given, setGiven] = useState<Rating | null>(null); // until the log says it
  const [reason, setReason] = useState<string | null>(null); // being written; null: nobody is asked
  const [trouble, setTrouble] = useState<unknown>(null);
  const rating = given ?? turn.feedback?.rating ?? "none";

  const rate = async (wanted: Rating, why?: string) => {
    setTrouble(null);
    setGiven(wanted);
    try {
      await client.giveFeedback(session, turn.id, { rating: wanted, ...(why ? { reason: why } : {}) });
      announce(words.rated);
    } catch (error) {
      setGiven(null);
      setTrouble(error);
    }
  };
  const press = (wanted: "up" | "down") => {
    const next = rating === wanted ? "none" : wanted;
    setReason(next === "none" ? null : turn.feedback?.reason ?? "");
    void rate(next);
  };
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (reason !== null && reason.trim() !== "" && rating !== "none") void rate(rating, reason.trim());
    setReason(null);
  };

  return (
    <>
      <button type="button" className="icon thumb" aria-pressed={rating === "up"} title={words.good} aria-label={words.good} onClick={() => press("up")}>
        <ThumbsUp aria-hidden />
      </button>
      <button type="button" className="icon thumb" aria-pressed={rating === "down"} title={words.bad} aria-label={words.bad} onClick={() => press("down")}>
        <ThumbsDown aria-hidden />
      </button>
      {turn.feedback?.reason && reason === null && rating !== "none" && <span className="reason" dir="auto">{turn.feedback.reason}</span>}
      {reason !== null && (
        <form className="feedback" onSubmit={submit}>
          <label htmlFor={id} className="unseen">{rating === "down" ? words.whyBad : words.whyGood}</label>
          <input id={id} type="text" maxLength={2000} autoFocus autoComplete="off" dir="auto" placeholder={rating === "down" ? words.whyBad : words.whyGood}
            value={reason} onChange={(event) => setReason(event.target.value)}
            onKeyDown={(event) => {
              if (event.key !== "Escape") return;
              event.preventDefault();
              setReason(null);
            }} />
          <button type="submit" className="small">{words.rate}</button>
        </form>
      )}
      <Trouble>{trouble !== null && speech.problem(trouble)}</Trouble>
    </>
  );
}
