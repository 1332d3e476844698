// A map by string keys that is never changed: `with` returns a new one that shares all but one path with the old one.
//
// A trie by five bits of the key's hash at each level (Bagwell, "Ideal Hash Trees", 2001), without the compression of
// its nodes: a value lies at most seven levels deep, below it keys of one hash stand in a row.

const BITS = 5;
const WIDTH = 1 << BITS;
const DEEPEST = 7 * BITS; // above the 32 bits of a hash

class Leaf<V> {
  constructor(readonly key: string, readonly value: V, readonly next?: Leaf<V>) {}
}

type Node<V> = Leaf<V> | readonly (Node<V> | undefined)[];

export class PersistentMap<V> implements Iterable<readonly [key: string, value: V]> {
  private constructor(private readonly root: Node<V> | undefined, readonly size: number) {}

  static empty<V>(): PersistentMap<V> {
    return new PersistentMap<V>(undefined, 0);
  }

  /** A map of these; of entries with the same key the last one. */
  static of<V>(entries: Iterable<readonly [key: string, value: V]>): PersistentMap<V> {
    let root: Node<V> | undefined;
    const keys = new Set<string>();
    for (const [key, value] of entries) {
      root = placed(root, 0, hashOf(key), key, value, true);
      keys.add(key);
    }
    return new PersistentMap(root, keys.size);
  }

  get(key: string): V | undefined {
    let node = this.root;
    const hash = hashOf(key);
    for (let shift = 0; node && !(node instanceof Leaf); shift += BITS) node = node[hash >>> shift & WIDTH - 1];
    for (let leaf = node; leaf; leaf = leaf.next) if (leaf.key === key) return leaf.value;
    return undefined;
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  /** This map with `value` for `key`; this very one where it is there already. */
  with(key: string, value: V): PersistentMap<V> {
    const before = this.get(key);
    if (before === value) return this;
    return new PersistentMap(placed(this.root, 0, hashOf(key), key, value), this.size + (before === undefined ? 1 : 0));
  }

  /** This map without `key`; this very one where it is not there. */
  without(key: string): PersistentMap<V> {
    if (!this.has(key)) return this;
    return new PersistentMap(removed(this.root, 0, hashOf(key), key), this.size - 1);
  }

  /** In no order that means anything. */
  *[Symbol.iterator](): Iterator<readonly [key: string, value: V]> {
    const nodes: (Node<V> | undefined)[] = [this.root];
    while (nodes.length) {
      const node = nodes.pop();
      if (node instanceof Leaf) for (let leaf: Leaf<V> | undefined = node; leaf; leaf = leaf.next) yield [leaf.key, leaf.value];
      else if (node) nodes.push(...node);
    }
  }
}

/** `isOwn`: nobody else has the nodes, which are changed in their places. */
function placed<V>(node: Node<V> | undefined, shift: number, hash: number, key: string, value: V, isOwn = false): Node<V> {
  if (!node) return new Leaf(key, value);
  if (node instanceof Leaf) {
    if (node.key === key && !node.next) return new Leaf(key, value);
    if (shift >= DEEPEST) return new Leaf(key, value, without(node, key));
    const opened = new Array<Node<V> | undefined>(WIDTH).fill(undefined);
    opened[hashOf(node.key) >>> shift & WIDTH - 1] = node;
    return placed(opened, shift, hash, key, value, true);
  }
  const copy = isOwn ? node as (Node<V> | undefined)[] : node.slice();
  const place = hash >>> shift & WIDTH - 1;
  copy[place] = placed(node[place], shift + BITS, hash, key, value, isOwn);
  return copy;
}

function removed<V>(node: Node<V> | undefined, shift: number, hash: number, key: string): Node<V> | undefined {
  if (!node || node instanceof Leaf) return without(node, key);
  const copy = node.slice();
  const place = hash >>> shift & WIDTH - 1;
  copy[place] = removed(node[place], shift + BITS, hash, key);
  return copy.some((each) => each) ? copy : undefined;
}

function without<V>(leaf: Leaf<V> | undefined, key: string): Leaf<V> | undefined {
  if (!leaf || leaf.key === key) return leaf?.next;
  return new Leaf(leaf.key, leaf.value, without(leaf.next, key));
}

/** FNV-1a, 32 bits (draft-eastlake-fnv), over UTF-16 code units. */
function hashOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index += 1) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}
