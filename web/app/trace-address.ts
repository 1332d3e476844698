// Where the reader's own dashboard shows a trace.

export const TRACE_ID = "{trace_id}";

export function isAddress(text: string | undefined): text is string {
  try {
    return ["https:", "http:"].includes(new URL(text ?? "").protocol);
  } catch {
    return false;
  }
}

// An address with the id's place in it, or nothing.
export const isTraceAddress = (text: string): boolean => text === "" || (isAddress(text) && text.includes(TRACE_ID));
