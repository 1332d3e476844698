// The lists of a conversation while many events are folded one after another: each is copied once, not for each event,
// and what is looked for among the parts of a turn is found without looking through them.

import type { Call, CallState, Part } from "./conversation.js";

/** Where things are among the parts of a turn. */
export class PartPlaces {
  /** The span of text or thinking that grows; -1: none does. */
  open = -1;
  /** The newest call of each id. */
  readonly calls = new Map<string, number>();
  private readonly waiting = new Map<CallState, number>();

  constructor(parts: readonly Part[]) {
    parts.forEach((part, place) => this.put(part, place));
  }

  /** `part` is at `place` from now on, instead of `before`. */
  put(part: Part, place: number, before?: Part): void {
    if ((part.kind === "text" || part.kind === "thinking") && part.open) this.open = place;
    else if (this.open === place) this.open = -1;
    if (before?.kind === "call") this.count(before.call, -1);
    if (part.kind !== "call") return;
    this.count(part.call, 1);
    this.calls.set(part.call.id, Math.max(place, this.calls.get(part.call.id) ?? 0));
  }

  /** How many calls that have no result are in one of these states. */
  waitingIn(...states: readonly CallState[]): number {
    return states.reduce((sum, state) => sum + (this.waiting.get(state) ?? 0), 0);
  }

  private count({ result, state }: Call, by: number): void {
    if (!result) this.waiting.set(state, (this.waiting.get(state) ?? 0) + by);
  }
}

/** Copies that it has made are changed in their places: nobody else may hold one while it is used. */
export class Lists {
  private readonly made = new Set<readonly unknown[]>();
  private readonly places = new Map<readonly Part[], PartPlaces>();

  /** `list` with a value at its end, or in the place of another one. */
  with<T>(list: readonly T[], value: T, place = list.length): readonly T[] {
    const copy = this.made.has(list) ? list as T[] : list.slice();
    this.made.add(copy);
    copy[place] = value;
    return copy;
  }

  /** The same for the parts of a turn. */
  withPart(parts: readonly Part[], part: Part, place = parts.length): readonly Part[] {
    const places = this.placesOf(parts);
    places.put(part, place, parts[place]);
    this.places.delete(parts);
    const after = this.with(parts, part, place);
    this.places.set(after, places);
    return after;
  }

  placesOf(parts: readonly Part[]): PartPlaces {
    let places = this.places.get(parts);
    if (!places) this.places.set(parts, places = new PartPlaces(parts));
    return places;
  }
}
