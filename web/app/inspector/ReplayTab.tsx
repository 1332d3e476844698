// Play, pause, speed, seek and step: the conversation beside it is drawn again from what has happened so far.

import { ChevronLeft, ChevronRight, Pause, Play, SkipBack, SkipForward } from "lucide-react";
import { type ChangeEvent, type KeyboardEvent, type ReactNode, useId, useRef, useState } from "react";

import { useWords } from "../state";
import { BadFile } from "./export-file";
import { count, duration } from "./numbers";
import { type Playing, SPEEDS } from "./player";
import { control, endReplay, playFile, playSession, useReplay } from "./replay";
import { words as table } from "./inspector-words";

const SEEK = 5000; // milliseconds of the arrow keys, or a part of a short replay

export function ReplayTab({ session }: { readonly session: string | null }) {
  const words = useWords(table);
  const { playing, recording, expected, problem, loading } = useReplay();
  const [isOver, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const opened = (event: ChangeEvent<HTMLInputElement>) => {
    const [file] = event.target.files ?? [];
    event.target.value = "";
    if (file) void playFile(file);
  };
  return (
    <div className={isOver ? "replay dropping" : "replay"} onDragOver={() => setOver(true)} onDragLeave={({ currentTarget, relatedTarget }) => {
      if (!currentTarget.contains(relatedTarget as Node | null)) setOver(false);
    }} onDrop={() => setOver(false)}>
      {playing && <Controls playing={playing} />}
      {playing && recording !== null && <p><span className="quiet">{words.recording}</span> {recording}</p>}
      {loading && <p className="quiet" role="status">{playing ? words.loadingEvents(count(playing.total), count(expected)) : words.loading}</p>}
      {problem && <p className="warn" role="alert">{problemOf(problem, words)}</p>}
      <p className="sources">
        {playing ? <button type="button" className="small" onClick={endReplay}>{words.leave}</button>
          : session !== null && <button type="button" className="primary" onClick={() => void playSession(session)}>{words.start}</button>}
        <button type="button" className="small" onClick={() => input.current?.click()}>{words.chooseFile}</button>
        <input ref={input} type="file" accept=".jsonl,application/x-ndjson" aria-label={words.chooseFile} hidden onChange={opened} />
      </p>
      <p className="quiet" role="status">{isOver ? words.dropNow : words.drop}</p>
    </div>
  );
}

function Controls({ playing }: { readonly playing: Playing }) {
  const words = useWords(table);
  const id = useId();
  const { position, total, at, length, isPlaying, speed } = playing;
  const place = words.eventOf(count(position), count(total));
  // By its own step the slider would go on by a millisecond.
  const pressed = (event: KeyboardEvent) => {
    const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
    if (way === undefined) return;
    event.preventDefault();
    control((player) => player.seek(at + way * Math.min(SEEK, length / 50)));
  };
  return (
    <div className="player" role="group" aria-label={words.tabs.replay}>
      <p className="buttons">
        <Step label={words.turnBack} onClick={() => control((player) => player.stepTurn(-1))}><SkipBack /></Step>
        <Step label={words.back} onClick={() => control((player) => player.step(-1))}><ChevronLeft /></Step>
        <Step label={isPlaying ? words.pause : words.play} onClick={() => control((player) => isPlaying ? player.pause() : player.play())}>
          {isPlaying ? <Pause /> : <Play />}
        </Step>
        <Step label={words.forward} onClick={() => control((player) => player.step(1))}><ChevronRight /></Step>
        <Step label={words.turnForward} onClick={() => control((player) => player.stepTurn(1))}><SkipForward /></Step>
        <label htmlFor={`${id}-speed`} className="unseen">{words.speed}</label>
        <select id={`${id}-speed`} value={speed} onChange={(event) => control((player) => player.setSpeed(Number(event.target.value)))}>
          {SPEEDS.map((each) => <option key={each} value={each}>{`${each}×`}</option>)}
        </select>
      </p>
      <input type="range" min={0} max={length} step={1} value={at} aria-label={words.position} onKeyDown={pressed}
        aria-valuetext={`${duration(at)}, ${place}`} onChange={(event) => control((player) => player.seek(Number(event.target.value)))} />
      <p className="quiet">{`${duration(at)} / ${duration(length)} · ${place}`}</p>
    </div>
  );
}

function Step({ label, onClick, children }: { readonly label: string; readonly onClick: () => void; readonly children: ReactNode }) {
  return <button type="button" className="icon" title={label} aria-label={label} onClick={onClick}>{children}</button>;
}

function problemOf(problem: Error, words: (typeof table)["en"]): string {
  if (!(problem instanceof BadFile)) return `${words.failed} ${problem.message}`;
  const said = words.badFile[problem.reason];
  return problem.line > 0 && problem.reason !== "no_events" ? words.atLine(problem.words ? `${said}: ${problem.words}` : said, String(problem.line)) : said;
}
