// Plays a log: which of its events have happened at a moment of the replay, and the conversation after them.

import { type Conversation, emptyConversation, type Event, reduceAll } from "@chat-gateway/client";

import { type EventList, EventLog } from "../event-log";

export const SPEEDS = [0.5, 1, 2, 4, 10, 50] as const;

/** Milliseconds of the longest wait between two events: between two messages of a person there may be days. */
export const LONGEST_PAUSE = 3000;

const CHECKPOINT = 250; // events between two conversations that are checkpoint to seek back to

export interface Playing {
  /** How many events have happened. */
  readonly position: number;
  readonly total: number;
  /** Milliseconds into the replay, and of all of it, at speed 1. */
  readonly at: number;
  readonly length: number;
  readonly isPlaying: boolean;
  readonly speed: number;
  readonly conversation: Conversation;
}

/** Holds no timer: `tick` is called once a frame with the time that has gone by. */
export class Player {
  private events = EventLog.of([]);
  private times: number[] = [];
  private readonly checkpoints: Conversation[] = [emptyConversation()];
  private state: Playing;

  constructor(events: readonly Event[]) {
    this.state = {
      position: 0, total: 0, at: 0, length: 0, isPlaying: false, speed: 1, conversation: emptyConversation(),
    };
    this.extend(events);
  }

  /** The same object until something changed. */
  get(): Playing {
    return this.state;
  }

  /** Puts events behind those that are there. */
  extend(events: readonly Event[]): void {
    let at = this.times.at(-1) ?? 0;
    let before = this.events.at(-1)?.ts;
    for (const { ts } of events) {
      at += before === undefined ? 0 : Math.min(LONGEST_PAUSE, Math.max(0, ts - before));
      before = ts;
      this.times.push(at);
    }
    this.events = this.events.with(events);
    this.state = { ...this.state, total: this.events.length, length: at };
  }

  /** From the beginning where it had come to its end. */
  play(): void {
    if (this.state.position >= this.state.total) this.move(0, 0);
    this.state = { ...this.state, isPlaying: true };
  }

  pause(): void {
    this.state = { ...this.state, isPlaying: false };
  }

  setSpeed(speed: number): void {
    this.state = { ...this.state, speed };
  }

  /** `elapsed`: milliseconds on the reader's clock since the last time. */
  tick(elapsed: number): void {
    const { isPlaying, speed, at, length, position } = this.state;
    if (!isPlaying) return;
    const now = Math.min(length, at + elapsed * speed);
    this.move(Math.max(position, this.positionAt(now)), now);
    if (this.state.position >= this.state.total) this.pause();
  }

  /** To a moment, in milliseconds at speed 1. */
  seek(at: number): void {
    const now = Math.min(this.state.length, Math.max(0, at));
    this.move(this.positionAt(now), now);
  }

  /** To after so many events. */
  seekTo(position: number): void {
    const place = Math.min(this.events.length, Math.max(0, Math.trunc(position)));
    this.move(place, this.times[place - 1] ?? 0);
  }

  /** Pauses and goes on by events: over pieces of one text at once, as no reader sees them one by one. */
  step(direction: 1 | -1): void {
    this.pause();
    const { events } = this;
    let place = this.state.position + direction;
    if (direction > 0) while (this.isWithinText(place)) place += 1;
    else while (place > 0 && this.isWithinText(place)) place -= 1;
    this.seekTo(Math.min(events.length, place));
  }

  /** Pauses and goes to the beginning of the next turn, or of this one, or of the one before. */
  stepTurn(direction: 1 | -1): void {
    this.pause();
    const starts = this.events.slice().flatMap(({ type }, place) => type === "turn_start" ? [place + 1] : []);
    const { position, total } = this.state;
    const next = direction > 0 ? starts.find((each) => each > position) : starts.findLast((each) => each < position);
    this.seekTo(next ?? (direction > 0 ? total : 0));
  }

  /** The event that happened last. */
  current(): Event | undefined {
    return this.state.position > 0 ? this.events.at(this.state.position - 1) : undefined;
  }

  known(): EventList {
    return this.events.upTo(this.state.position);
  }

  // Whether the events before and after `place` are pieces of one text.
  private isWithinText(place: number): boolean {
    const one = place > 0 ? this.events.at(place - 1) : undefined, other = this.events.at(place);
    return one?.type === other?.type && one?.turn_id === other?.turn_id && (one?.type === "text" || one?.type === "thinking");
  }

  private positionAt(at: number): number {
    let low = 0, high = this.times.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.times[middle] ?? 0) <= at) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private move(position: number, at: number): void {
    if (position === this.state.position && at === this.state.at) return;
    this.state = { ...this.state, position, at, conversation: this.conversationAt(position) };
  }

  private conversationAt(position: number): Conversation {
    const { position: here, conversation: shown } = this.state;
    const checkpoint = Math.min(this.checkpoints.length - 1, Math.floor(position / CHECKPOINT));
    let place = checkpoint * CHECKPOINT, conversation = this.checkpoints[checkpoint] ?? emptyConversation();
    if (here <= position && here >= place) [place, conversation] = [here, shown];
    while (place < position) {
      const next = Math.min(position, place - place % CHECKPOINT + CHECKPOINT);
      conversation = reduceAll(conversation, this.events.slice(place, next));
      place = next;
      if (place === this.checkpoints.length * CHECKPOINT) this.checkpoints.push(conversation);
    }
    return conversation;
  }
}
