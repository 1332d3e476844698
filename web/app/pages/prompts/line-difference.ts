// Two texts, line by line: what is in both, and what only one of them has.

export interface Line {
  readonly mark: " " | "-" | "+";
  readonly text: string;
}

const MOST_CELLS = 1_000_000; // of the table that finds the longest common lines

/** The lines of both in their order; of very long texts that differ in much, one after the other. */
export function linesOf(before: string, after: string): readonly Line[] {
  const one = before.split("\n"), other = after.split("\n");
  let head = 0;
  while (head < one.length && head < other.length && one[head] === other[head]) head += 1;
  let tail = 0;
  while (tail < one.length - head && tail < other.length - head && one.at(-1 - tail) === other.at(-1 - tail)) tail += 1;
  const same = (text: string): Line => ({ mark: " ", text });
  return [
    ...one.slice(0, head).map(same),
    ...middle(one.slice(head, one.length - tail), other.slice(head, other.length - tail)),
    ...one.slice(one.length - tail).map(same),
  ];
}

function middle(one: readonly string[], other: readonly string[]): readonly Line[] {
  const gone = (text: string): Line => ({ mark: "-", text }), come = (text: string): Line => ({ mark: "+", text });
  const width = other.length + 1;
  if ((one.length + 1) * width > MOST_CELLS) return [...one.map(gone), ...other.map(come)];
  // How many lines the rests from here on have in common.
  const common = new Uint32Array((one.length + 1) * width);
  const at = (i: number, j: number) => common[i * width + j] ?? 0;
  for (let i = one.length - 1; i >= 0; i -= 1) {
    for (let j = other.length - 1; j >= 0; j -= 1) {
      common[i * width + j] = one[i] === other[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: Line[] = [];
  let i = 0, j = 0;
  while (i < one.length && j < other.length) {
    const here = one[i] ?? "", there = other[j] ?? "";
    if (here === there) {
      lines.push({ mark: " ", text: here });
      i += 1;
      j += 1;
    } else if (at(i + 1, j) >= at(i, j + 1)) {
      lines.push(gone(here));
      i += 1;
    } else {
      lines.push(come(there));
      j += 1;
    }
  }
  return [...lines, ...one.slice(i).map(gone), ...other.slice(j).map(come)];
}
