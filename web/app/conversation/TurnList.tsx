// The turns of the branch on the screen. Only those near the visible part are drawn; older ones are read when they are
// scrolled to. It stays at its end while it grows, until the reader scrolls up.

import { answer } from "@chat-gateway/client";
import { ArrowDown } from "lucide-react";
import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Virtualizer, type VirtualizerHandle } from "virtua";

import { loadOlder } from "../live";
import { app, useApp } from "../state";
import { useMayWrite } from "../sidebar/shared-chats";
import { QuoteButton } from "./QuoteButton";
import { useSpeech } from "./speech";
import { usePrinting } from "./printing";
import { TurnView } from "./TurnView";

const AT_END = 40; // pixels from the end that count as being there
// Of the newest turns, which are always drawn: a short chat can be searched by the browser, and what is being written at the
// newest one, such as other arguments of a call, is still there when the reader comes back to it.
const MOUNTED = 20;
const MOUNTED_TEXT = 30_000; // characters of them: an element takes some 2 kB in memory
const PART_TEXT = 100; // characters that a part counts as, beside what it says
const UPWARDS = new Set(["ArrowUp", "PageUp", "Home"]);
const RETRY_MS = 3000; // after which an older page that did not come is asked for again
const MAX_FAILED = 20; // times; then when the reader scrolls
const AHEAD = 1500; // pixels before the first known turn at which older ones are read

interface Props {
  readonly session: string;
  /** What follows the turns. */
  readonly children: ReactNode;
  /** Changes when the reader sent something: it is shown. */
  readonly sent: number;
}

export function TurnList({ session, children, sent }: Props) {
  const { words } = useSpeech();
  const mayWrite = useMayWrite(session);
  const path = useApp(({ conversation }) => conversation.path);
  const hasOlder = useApp(({ conversation }) => conversation.first > 1);
  const isFirstWhole = useApp(({ conversation }) => conversation.turns.get(conversation.path[0] ?? "")?.isWhole ?? true);
  const first = useApp(({ conversation }) => conversation.first);
  const wanted = useApp(({ place }) => place.turn);
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const list = useRef<VirtualizerHandle>(null);
  const isStuck = useRef(true);
  const isPressed = useRef(false);
  const last = useRef({ top: 0, height: 0 });
  const [isAway, setAway] = useState(false);
  const [failed, setFailed] = useState(0);
  const isPrepended = usePrepended(path);
  const isPrinting = usePrinting();

  // The scrolling tells that it is at its end then.
  const toEnd = () => {
    isStuck.current = true;
    if (scroller.current) scroller.current.scrollTop = scroller.current.scrollHeight;
  };

  useLayoutEffect(() => {
    if (sent > 0) toEnd();
  }, [sent]);

  // Whatever grows, be it a streamed text or an image that comes late. What is pressed stays under the pointer until it
  // is let go: a button hears of no click that ends elsewhere.
  useEffect(() => {
    const follow = () => {
      const place = scroller.current;
      if (place && isStuck.current && !isPressed.current) place.scrollTop = place.scrollHeight;
    };
    const release = () => {
      isPressed.current = false;
      requestAnimationFrame(follow);
    };
    const observer = new ResizeObserver(follow);
    if (content.current) observer.observe(content.current);
    if (scroller.current) observer.observe(scroller.current);
    addEventListener("pointerup", release);
    addEventListener("pointercancel", release);
    return () => {
      observer.disconnect();
      removeEventListener("pointerup", release);
      removeEventListener("pointercancel", release);
    };
  }, []);

  // A turn that began before the first known event, or a page that does not fill the screen.
  useEffect(() => {
    const place = scroller.current;
    const isShort = place !== null && place.scrollHeight <= place.clientHeight + AHEAD;
    if (!hasOlder || (isFirstWhole && !isShort)) return;
    let retry: ReturnType<typeof setTimeout> | undefined;
    let isLeft = false;
    void loadOlder().catch(() => {
      if (!isLeft && failed < MAX_FAILED) retry = setTimeout(() => setFailed(failed + 1), RETRY_MS);
    });
    return () => {
      isLeft = true;
      clearTimeout(retry);
    };
  }, [hasOlder, isFirstWhole, first, failed]);

  // A link leads to one turn, which may be in an older page of the log.
  useEffect(() => {
    if (wanted === null) return;
    const at = path.indexOf(wanted);
    if (at >= 0) {
      isStuck.current = false;
      list.current?.scrollToIndex(at, { align: "start" });
    } else if (hasOlder) void loadOlder().catch(() => undefined);
    // eslint-disable-next-line react-hooks/exhaustive-deps -- not again for each new turn
  }, [wanted, first]);

  // The reader goes up, unless there is nothing to go up to.
  const leave = () => {
    const place = scroller.current;
    if (place && place.scrollHeight > place.clientHeight) isStuck.current = false;
  };

  const look = () => {
    const place = scroller.current;
    if (!place) return;
    const { scrollTop: top, scrollHeight: height } = place;
    if (height - top - place.clientHeight < AT_END) isStuck.current = true;
    // Where the height changed, too, it was the list that moved, not the reader.
    else if (top < last.current.top - 1 && height === last.current.height) isStuck.current = false;
    last.current = { top, height };
    setAway(!isStuck.current);
    if (place.scrollTop < AHEAD && hasOlder) void loadOlder().catch(() => undefined);
  };

  return (
    <div className="scroll-frame">
      <div ref={scroller} className="scroll" onScroll={look} tabIndex={0} onPointerDown={({ button }) => { isPressed.current = button === 0; }}
        onWheel={({ deltaY }) => deltaY < 0 && leave()} onTouchMove={leave} onKeyDown={({ key }) => UPWARDS.has(key) && leave()} role={path.length > 0 ? "feed" : "group"} aria-label={words.conversation} aria-busy={hasOlder && !isFirstWhole}>
        <div ref={content} id="messages">
          {hasOlder && <p className="older">{words.loadingOlder}</p>}
          {hasOlder && <p className="on-paper">{words.notPrinted}</p>}
          <Virtualizer ref={list} scrollRef={scroller} data={path} shift={isPrepended} bufferSize={800}
            keepMounted={isPrinting ? [...path.keys()] : alwaysDrawn(path)}>
            {(id, index) => <TurnView key={id} session={session} id={id} position={index + 1} count={hasOlder ? -1 : path.length} />}
          </Virtualizer>
          {children}
        </div>
      </div>
      {mayWrite && <QuoteButton session={session} within={scroller} />}
      {isAway && (
        <button type="button" className="newest" title={words.toNewest} onClick={toEnd}>
          <ArrowDown aria-hidden /> {words.newest}
        </button>
      )}
    </div>
  );
}

// The places of the newest turns, as many as make a short chat.
function alwaysDrawn(path: readonly string[]): number[] {
  const { turns } = app.get().conversation;
  const places: number[] = [];
  for (let place = path.length - 1, room = MOUNTED_TEXT; place >= 0 && places.length < MOUNTED; place -= 1) {
    const turn = turns.get(path[place] ?? "");
    room -= turn ? turn.input.length + answer(turn).length + PART_TEXT * turn.parts.length : 0;
    if (room < 0 && places.length > 0) break;
    places.unshift(place);
  }
  return places;
}

// Whether turns were put before those of the last drawing.
function usePrepended(path: readonly string[]): boolean {
  const [last, setLast] = useState({ path, isPrepended: false });
  if (last.path === path) return last.isPrepended;
  const [first] = last.path;
  const next = { path, isPrepended: first !== undefined && path[0] !== first && path.includes(first) };
  setLast(next);
  return next.isPrepended;
}
