// The server's time, as its answers tell it: the clock of a browser may be wrong, and what is shown is from the server's.

let ahead = 0; // milliseconds

export function noteServerTime(response: Response): Response {
  const said = Date.parse(response.headers.get("Date") ?? "");
  if (!Number.isNaN(said)) {
    const after = said - Date.now();
    if (Math.abs(after - ahead) > TOLERANCE_MS) ahead = Math.abs(after) > TOLERANCE_MS ? after : 0;
  }
  return response;
}

const TOLERANCE_MS = 5_000; // the header has whole seconds, and an answer takes its time

export function now(): number {
  return Date.now() + ahead;
}
