// Server-sent events out of a body that comes in pieces (WHATWG HTML, "Parsing an event stream"; lines end with LF or
// CRLF).

export interface Frame {
  readonly id?: string;
  readonly event?: string;
  readonly data?: string;
}

/** Takes text as it comes and gives the frames that are whole. */
export class FrameReader {
  private line = ""; // grows by concatenation alone: it is searched and joined once, when its end has come
  private frame: { id?: string; event?: string; data?: string } = {};

  take(text: string): Frame[] {
    const frames: Frame[] = [];
    let start = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
      this.end(this.line + text.slice(start, end), frames);
      this.line = "";
      start = end + 1;
    }
    this.line += text.slice(start);
    return frames;
  }

  private end(given: string, frames: Frame[]): void {
    const line = given.endsWith("\r") ? given.slice(0, -1) : given;
    if (line === "") {
      if (this.frame.data !== undefined) frames.push(this.frame);
      this.frame = {};
      return;
    }
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "data") this.frame.data = this.frame.data === undefined ? value : `${this.frame.data}\n${value}`;
    else if (name === "id" || name === "event") this.frame[name] = value;
  }
}
