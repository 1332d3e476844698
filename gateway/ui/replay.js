// Plays the session's recorded events in the side panel, at their own pace or faster.

import { replay } from "./api.js";
import { byId } from "./dom.js";
import { inWords, words } from "./words.js";

export class Replay {
  // `onStopped()` puts into the panel what belongs there otherwise.
  constructor(panel, { current, onStopped }) {
    this.panel = panel;
    this.current = current;
    this.onStopped = onStopped;
    this.running = null;
    byId("replay").addEventListener("click", () => {
      if (!this.running) return this.play();
      this.stop();
      return this.onStopped();
    });
  }

  async play() {
    const mine = this.running = new AbortController();
    this.panel.clear();
    this.tell(words.replaying);
    let told = words.replayed;
    try {
      await replay(this.current(), byId("replay-speed").value, {
        onEvent: (event) => mine.signal.aborted || this.panel.add(event),
        signal: mine.signal,
      });
    } catch (error) {
      told = inWords(error);
    }
    if (mine === this.running) this.end(told);
  }

  stop() {
    this.running?.abort();
    this.end("");
  }

  end(text) {
    this.running = null;
    this.tell(text);
  }

  // `isAllowed`: there is something to replay, and nothing is going on that should be seen instead.
  allow(isAllowed) {
    byId("replay").disabled = !isAllowed;
  }

  tell(text) {
    byId("replay-note").textContent = text;
    byId("replay").textContent = this.running ? words.stopReplay : words.replay;
  }
}
