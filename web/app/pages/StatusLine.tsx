import type { StatusText } from "./page-status";

export function StatusLine({ status: { text, isTrouble } }: { readonly status: StatusText }) {
  return <p role="status" className={isTrouble ? "status-line trouble" : "status-line"}>{text}</p>;
}
