/** The parsed blocks of all messages: made in a worker, kept for when they come to the screen again. */

import type { RootContent } from "mdast";
import { useEffect, useState } from "react";
import { parser } from "./queues";
import { TextCache } from "./worker-queue";

/** null: to be shown as it was written. */
export type Tree = readonly RootContent[] | null;

const MAX_CACHED = 300_000; // characters, whose trees take some ten times as much in memory

const trees = new TextCache<Tree>(MAX_CACHED);

const keyOf = (source: string, context: string) => (context === "" ? source : `${source}\0${context}`);

interface Wanted {
  key: string;
  source: string;
  context: string;
}

interface Parsed {
  key: string;
  tree: Tree;
}

/** Has one block parsed as it grows: what it was while the parser was busy is left out, what it was before forgotten. */
class Growing {
  private next: Wanted | null = null;
  private last = "";
  private isBusy = false;

  async want(wanted: Wanted, onParsed: (parsed: Parsed) => void): Promise<void> {
    this.next = wanted;
    if (this.isBusy) return;
    this.isBusy = true;
    for (let each: Wanted | null = wanted; each !== null; each = this.next) {
      this.next = null;
      const tree = await parser.do(each);
      if (this.last !== each.key && each.key.startsWith(this.last)) trees.delete(this.last);
      this.last = each.key;
      trees.set(each.key, tree);
      onParsed({ key: each.key, tree });
    }
    this.isBusy = false;
  }
}

/** The tree of a block. While that is parsed: undefined, or the tree of what the block was before it grew. */
export function useTree(source: string, context: string): Tree | undefined {
  const [growing] = useState(() => new Growing());
  const [parsed, setParsed] = useState<Parsed | null>(null);
  const key = keyOf(source, context);
  const { now } = parser;
  const known = trees.getOrMake(key, now && (() => now({ source, context })));
  const isKnown = known !== undefined;
  useEffect(() => {
    if (!isKnown) void growing.want({ key, source, context }, setParsed);
  }, [growing, isKnown, key, source, context]);
  return isKnown ? known : parsed !== null && key.startsWith(parsed.key) ? parsed.tree : undefined;
}
