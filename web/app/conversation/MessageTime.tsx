// When a message was sent or an answer was there: seen beside the buttons below it, and read out always.

import { useSpeech } from "./speech";

export function MessageTime({ at }: { readonly at: number }) {
  const speech = useSpeech();
  return <time className="message-time" dateTime={new Date(at).toISOString()} title={speech.time(at)}>{speech.moment(at)}</time>;
}
