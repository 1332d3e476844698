import type { Told } from "./tell";

export function ToldLine({ told: { text, isTrouble } }: { readonly told: Told }) {
  return <p role="status" className={isTrouble ? "told trouble" : "told"}>{text}</p>;
}
