// A long list of rows of one height, of which only those on the screen exist: a listbox with one chosen row.

import { type KeyboardEvent, type ReactNode, useEffect, useId, useLayoutEffect, useRef, useState } from "react";

export const ROW_HEIGHT = 28;

const MORE = 8; // rows above and below the screen
const UNMEASURED = 600; // pixels

export interface VirtualListProps {
  readonly label: string;
  readonly count: number;
  /** Of a row: a number that stays the same when rows are put in front, and grows from row to row. */
  readonly keyOf: (place: number) => number;
  /** By its key. */
  readonly chosen: number | null;
  readonly onChoose: (key: number) => void;
  /** The first rows are on the screen. */
  readonly onTop?: (() => void) | undefined;
  readonly row: (place: number) => ReactNode;
}

export function VirtualList({ label, count, keyOf, chosen, onChoose, onTop, row }: VirtualListProps) {
  const box = useRef<HTMLDivElement>(null);
  const id = useId();
  const [view, setView] = useState({ top: 0, height: UNMEASURED });
  const isAtEnd = useRef(true);
  const top = useRef<number | null>(null); // the key of the first row on the screen

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = () => setView({ top: element.scrollTop, height: element.clientHeight || UNMEASURED });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  // What is on the screen stays there when rows are put in front; at its end the list follows what comes.
  useLayoutEffect(() => {
    const element = box.current;
    if (!element || count === 0) return;
    const place = Math.min(count - 1, Math.floor(element.scrollTop / ROW_HEIGHT));
    if (isAtEnd.current) element.scrollTop = count * ROW_HEIGHT;
    else if (top.current !== null && keyOf(place) !== top.current) {
      element.scrollTop = placeOf(top.current, count, keyOf) * ROW_HEIGHT + element.scrollTop % ROW_HEIGHT;
    }
  }, [count, keyOf]);

  const here = chosen === null ? null : placeOf(chosen, count, keyOf);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element || here === null || element.clientHeight === 0) return;
    const from = here * ROW_HEIGHT, to = from + ROW_HEIGHT;
    if (from < element.scrollTop) element.scrollTop = from;
    else if (to > element.scrollTop + element.clientHeight) element.scrollTop = to - element.clientHeight;
    // Only when another row is chosen: what comes must not scroll back to it.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [chosen]);

  const scrolled = () => {
    const element = box.current;
    if (!element) return;
    const { scrollTop, clientHeight: height, scrollHeight } = element;
    isAtEnd.current = scrollTop + height >= scrollHeight - ROW_HEIGHT;
    top.current = count > 0 ? keyOf(Math.min(count - 1, Math.floor(scrollTop / ROW_HEIGHT))) : null;
    setView({ top: scrollTop, height });
    if (scrollTop < ROW_HEIGHT * 4) onTop?.();
  };

  const pressed = (event: KeyboardEvent) => {
    if (count === 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    const page = Math.max(1, Math.floor(view.height / ROW_HEIGHT) - 1);
    const from = here ?? (event.key === "ArrowUp" ? count : -1);
    const moves: Readonly<Record<string, number>> = {
      ArrowDown: from + 1, ArrowUp: from - 1, PageDown: from + page, PageUp: from - page, Home: 0, End: count - 1,
    };
    const next = moves[event.key];
    if (next === undefined) return;
    event.preventDefault();
    onChoose(keyOf(Math.min(count - 1, Math.max(0, next))));
  };

  const first = Math.max(0, Math.floor(view.top / ROW_HEIGHT) - MORE);
  const last = Math.min(count, Math.ceil((view.top + view.height) / ROW_HEIGHT) + MORE);
  const places = Array.from({ length: Math.max(0, last - first) }, (_, place) => first + place);
  const active = here !== null && here >= first && here < last && keyOf(here) === chosen ? `${id}-${chosen}` : undefined;
  return (
    <div ref={box} className="virtual" role="listbox" tabIndex={0} aria-label={label} aria-activedescendant={active}
      onScroll={scrolled} onKeyDown={pressed}>
      <div className="virtual-rows" role="presentation" style={{ height: count * ROW_HEIGHT }}>
        {places.map((place) => {
          const key = keyOf(place);
          return (
            <div key={key} id={`${id}-${key}`} role="option" aria-selected={key === chosen} aria-setsize={count} aria-posinset={place + 1}
              className="virtual-row" style={{ transform: `translateY(${place * ROW_HEIGHT}px)`, height: ROW_HEIGHT }}
              onClick={() => onChoose(key)}>{row(place)}</div>
          );
        })}
      </div>
    </div>
  );
}

/** The first place whose key is not less than `key`. */
function placeOf(key: number, count: number, keyOf: (place: number) => number): number {
  let low = 0, high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keyOf(middle) < key) low = middle + 1;
    else high = middle;
  }
  return Math.min(low, Math.max(0, count - 1));
}
