// A menu closes when the reader goes elsewhere, or presses Escape.

export function listenToMenu(menu) {
  for (const leaving of ["click", "focusin"]) {
    document.addEventListener(leaving, (event) => {
      // The path as it was: what is clicked may take itself off the page.
      if (!event.composedPath().includes(menu)) menu.open = false;
    });
  }
  document.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape" || !menu.open || menu.querySelector("dialog[open]")) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
}
