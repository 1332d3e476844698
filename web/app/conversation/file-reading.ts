// What the model gets of a file, in words.

import type { api, AttachedFile } from "@chat-gateway/client";

import type { Speech } from "./speech";

export interface Told {
  readonly words: string;
  /** The model gets less than the file. */
  readonly isLess: boolean;
}

type Takes = Pick<api.ChoosableModel, "id" | "images" | "pdfs">;

// `model`: the one that it goes to, where it is known what that looks at. null: nobody has said.
export function toldOf({ reading, mime }: AttachedFile, { words, fill, counted }: Speech, model?: Takes): Told | null {
  if (reading === undefined) return null;
  const told = words.reading;
  const lines = reading.lines === undefined ? "" : counted("line", reading.lines);
  const less = (said: string, values: Readonly<Record<string, string | number>> = {}): Told => ({ words: fill(said, values), isLess: true });
  const all = (said: string): Told => ({ words: said, isLess: false });
  switch (reading.how) {
    case "text":
      return reading.damaged === undefined ? all(fill(told.text, { lines })) : less(told.damagedText, { lines });
    case "part":
      return less(told.part, { lines });
    case "image":
      if (model?.images === false) return less(told.noImages, { model: model.id });
      return all(reading.scaled ? told.scaled : told.image);
    case "pages":
      if (model?.pdfs === false) return less(told.noPdfs, { model: model.id });
      return all(reading.pages === undefined ? told.document : counted("page", reading.pages));
    case "none":
      if (reading.why === "format" && mime.startsWith("image/")) return less(told.imageFormat);
      return less(told.none[reading.why ?? "format"], { count: reading.pages ?? 0 });
  }
}
