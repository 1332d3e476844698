// Watches the page from its first moment on: what `bench.page` asks it afterwards.
"use strict";
(() => {
  const turns = new Map();
  let changedAt = 0;
  const watch = (window.watch = {
    boxAt: 0,
    // Milliseconds until something is painted, and until there is a box to write in, too; null before that.
    opening() {
      const paint = performance.getEntriesByName("first-contentful-paint")[0]?.startTime;
      return paint && watch.boxAt ? { paint, box: Math.max(paint, watch.boxAt) } : null;
    },
    turnAt: (id) => turns.get(id) ?? 0,
    isOver: (id) => document.querySelector(`article[data-turn="${id}"] .outcome`) !== null,
    isCompleted: (id) => document.querySelector(`article[data-turn="${id}"] .outcome.completed`) !== null,
    // Markdown that waits for its parser is shown as it was written.
    isDrawn: () => performance.now() - changedAt > 2_000,
    async until(holds) {
      while (!holds()) await new Promise((resolve) => setTimeout(resolve, 50));
    },
    toEnd: () => scroller().scrollTo(0, scroller().scrollHeight),
    async toFirst(id) {
      while (!document.querySelector(`article[data-turn="${id}"]`)) {
        scroller().scrollTop = 0;
        await drawn();
      }
    },
    async through(steps) {
      const place = scroller();
      for (let step = 0; step <= steps; step += 1) {
        place.scrollTop = (place.scrollHeight * step) / steps;
        await drawn();
      }
    },
    async allEvents() {
      for (let button = older(); button; button = older()) {
        button.click();
        await drawn();
      }
    },
    async scrollEvents(steps) {
      const list = document.querySelector(".events .virtual");
      for (let step = 0; step <= steps; step += 1) {
        list.scrollTop = (list.scrollHeight * step) / steps;
        await drawn();
      }
    },
  });
  const scroller = () => document.querySelector(".conversation .scroll");
  const older = () => document.querySelector(".events [role=status] button");
  const drawn = () => new Promise((resolve) => requestAnimationFrame(resolve));

  // Frames are drawn all the time, so that there is one to be late.
  requestAnimationFrame(function frame() {
    requestAnimationFrame(frame);
  });

  new MutationObserver(() => {
    changedAt = performance.now();
    const box = document.querySelector("#conversation textarea");
    if (!watch.boxAt && box && !box.disabled) requestAnimationFrame(() => (watch.boxAt ||= performance.now()));
    for (const turn of document.querySelectorAll("article.turn")) {
      const id = turn.dataset.turn;
      if (!turns.has(id) && turn.querySelector(".prose") && !turn.querySelector(".prose > .plain")) {
        turns.set(id, 0);
        requestAnimationFrame(() => turns.set(id, performance.now()));
      }
    }
  }).observe(document, { childList: true, subtree: true });
})();
