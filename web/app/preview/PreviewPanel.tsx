// The panel beside the conversation: a document as it looks, or its source. Over the conversation where there is no room.

import { Download, X } from "lucide-react";
import { type KeyboardEvent, type PointerEvent, useEffect, useId, useLayoutEffect, useRef, useState } from "react";

import { readStored, writeStored } from "../browser-storage";
import { Markdown } from "../conversation/markdown/Markdown";
import { CopyButton } from "../CopyButton";
import { saveFile } from "../downloads";
import { inWords } from "../pages/problems";
import { useLanguage, useSettings } from "../settings";
import { useWords } from "../state";
import { documentOf } from "./documents";
import { words as table } from "./preview-words";
import { fileNameOf, LARGEST, preview, type Previewed } from "./previewed";
import "./preview.css";

const WIDTH = "gateway.preview-width";
const NARROWEST = 320; // pixels
const STEP = 32;
const ROOM_BESIDE = 360; // pixels that are left to the conversation

interface Props {
  readonly shown: Previewed;
  /** It lies over the conversation. */
  readonly isOver: boolean;
}

export default function PreviewPanel({ shown, isOver }: Props) {
  const words = useWords(table);
  const [isSource, setSource] = useState(false);
  const [width, setWidth] = useWidth();
  const heading = useId();
  const panel = useRef<HTMLElement>(null);
  useFocusWithin(panel);
  const { text, trouble } = useText(shown);
  const isTooLarge = text !== undefined && text.length > LARGEST;
  const save = () => text !== undefined && saveFile(new File([text], fileNameOf(shown), { type: "text/plain" }));
  const close = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    event.preventDefault();
    preview(null);
  };
  return (
    <aside ref={panel} className="preview-panel" aria-labelledby={heading} data-over={isOver} tabIndex={-1} onKeyDown={close} style={isOver ? undefined : { width }}>
      {!isOver && <Edge width={width} label={words.width} onWidth={setWidth} />}
      <header className="preview-head">
        <h2 id={heading} dir="auto" title={shown.name}>{shown.name}</h2>
        <div className="buttons" role="group" aria-label={words.previewOf(shown.name)}>
          <button type="button" className="small" aria-pressed={!isSource} onClick={() => setSource(false)}>{words.rendered}</button>
          <button type="button" className="small" aria-pressed={isSource} onClick={() => setSource(true)}>{words.source}</button>
        </div>
        <CopyButton text={() => text ?? ""} label={words.copy} />
        <button type="button" className="icon" title={words.download} aria-label={words.download} disabled={text === undefined} onClick={save}><Download aria-hidden /></button>
        <button type="button" className="icon" title={words.close} aria-label={words.close} onClick={() => preview(null)}><X aria-hidden /></button>
      </header>
      {trouble !== undefined ? <p role="alert" className="preview-note trouble">{trouble}</p>
        : text === undefined ? <p role="status" className="preview-note">{words.loading}</p>
        : text.trim() === "" ? <p className="preview-note">{words.empty}</p>
        : isTooLarge ? <p className="preview-note">{words.tooLarge}</p>
        : isSource ? <pre className="preview-source" tabIndex={0} dir="ltr" aria-label={shown.name}>{text}</pre>
        : shown.kind === "markdown" ? <div className="preview-document prose" tabIndex={0} role="document" aria-labelledby={heading}><Markdown text={text} /></div>
        : <Frame kind={shown.kind} name={shown.name} text={text} />}
    </aside>
  );
}

function Frame({ kind, name, text }: { readonly kind: Exclude<Previewed["kind"], "markdown">; readonly name: string; readonly text: string }) {
  const words = useWords(table);
  const language = useLanguage();
  const isDark = useIsDark();
  const frame = useRef<HTMLIFrameElement>(null);
  const [isThere, setThere] = useState(false);
  const [trouble, setTrouble] = useState<string>();
  const { noDiagram } = words;
  useEffect(() => {
    if (!isThere) return undefined;
    let isOn = true;
    documentOf(kind, text, { isDark, noDiagram }).then(
      // Its origin is none that could be named.
      (made) => isOn && frame.current?.contentWindow?.postMessage(made, "*"),
      (error: unknown) => isOn && setTrouble(inWords(error as Error, language)),
    );
    return () => {
      isOn = false;
    };
  }, [isThere, kind, text, isDark, noDiagram, language]);
  if (trouble !== undefined) return <p role="alert" className="preview-note trouble">{trouble}</p>;
  return (
    <>
      <iframe ref={frame} className="preview-frame" src="./preview.html" sandbox="allow-scripts" title={words.frame(name)} onLoad={() => setThere(true)} />
      <p className="preview-foot">{words.kinds[kind]} · {words.isolated}</p>
    </>
  );
}

function useText({ text }: Previewed): { readonly text?: string; readonly trouble?: string } {
  const language = useLanguage();
  const [read, setRead] = useState<{ text?: string; trouble?: string }>({});
  useEffect(() => {
    if (typeof text === "string") return undefined;
    let isOn = true;
    text().then((found) => isOn && setRead({ text: found }), (error: unknown) => isOn && setRead({ trouble: inWords(error as Error, language) }));
    return () => {
      isOn = false;
    };
  }, [text, language]);
  return typeof text === "string" ? { text } : read;
}

// The focus goes into the panel, and back to where it was.
function useFocusWithin(panel: React.RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const before = document.activeElement;
    const here = panel.current;
    here?.focus();
    return () => {
      if (before instanceof HTMLElement && (document.activeElement === document.body || here?.contains(document.activeElement))) before.focus();
    };
  }, [panel]);
}

const DARK = matchMedia("(prefers-color-scheme: dark)");

function useIsDark(): boolean {
  const theme = useSettings((value) => value.theme);
  const [isDark, setDark] = useState(DARK.matches);
  useEffect(() => {
    const look = () => setDark(DARK.matches);
    DARK.addEventListener("change", look);
    return () => DARK.removeEventListener("change", look);
  }, []);
  return theme === "system" ? isDark : theme === "dark";
}

function useWidth(): readonly [number, (width: number) => void] {
  const [width, setWidth] = useState(() => bounded(Number(readStored(WIDTH)) || Math.round(innerWidth * .42)));
  return [width, (wanted) => {
    const now = bounded(wanted);
    setWidth(now);
    writeStored(WIDTH, String(now));
  }];
}

const widest = () => Math.max(NARROWEST, innerWidth - ROOM_BESIDE);
const bounded = (width: number) => Math.min(Math.max(width, NARROWEST), widest());

// The edge by which the panel is made wider: it is drawn with the pointer, or goes by the arrow keys.
function Edge({ width, label, onWidth }: { readonly width: number; readonly label: string; readonly onWidth: (width: number) => void }) {
  const follow = (event: PointerEvent<HTMLDivElement>) => {
    if (event.currentTarget.hasPointerCapture(event.pointerId)) onWidth(document.documentElement.dir === "rtl" ? event.clientX : innerWidth - event.clientX);
  };
  const press = (event: KeyboardEvent) => {
    const wanted = { ArrowLeft: width + STEP, ArrowRight: width - STEP, Home: widest(), End: NARROWEST }[event.key];
    if (wanted === undefined) return;
    event.preventDefault();
    onWidth(wanted);
  };
  return (
    <div className="preview-edge" role="separator" tabIndex={0} aria-orientation="vertical" aria-label={label} aria-valuenow={width} aria-valuemin={NARROWEST} aria-valuemax={widest()}
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)} onPointerMove={follow} onKeyDown={press} />
  );
}
