// The part of the window that an on-screen keyboard leaves. Where it does not make the page smaller by itself, as on
// iOS, the frame is as high as what is seen (`--seen-height`), and begins where that begins (`--seen-top`).

const SMALLEST = 80; // pixels: less is no keyboard, but a bar of the browser

// Called once.
export function followOnScreenKeyboard(): void {
  const seen = window.visualViewport;
  if (!seen) return;
  const fit = () => {
    const { style } = document.documentElement;
    // Two fingers make the page larger: then nothing covers it.
    const isCovered = seen.scale <= 1.01 && window.innerHeight - seen.height >= SMALLEST;
    if (isCovered) {
      style.setProperty("--seen-height", `${seen.height}px`);
      style.setProperty("--seen-top", `${seen.offsetTop}px`);
    } else {
      style.removeProperty("--seen-height");
      style.removeProperty("--seen-top");
    }
  };
  fit();
  seen.addEventListener("resize", fit);
  seen.addEventListener("scroll", fit);
}
