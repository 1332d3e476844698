import type { Piece } from "./highlight";

export function Pieces({ pieces }: { readonly pieces: readonly Piece[] }) {
  return pieces.map(({ text, hit }, at) => hit ? <mark key={at}>{text}</mark> : text);
}
