import { expect, test } from "vitest";

import { pastedFiles } from "./dropped-files";

const named = (...names: string[]) => names.map((name) => new File(["x"], name));
const namesOf = (text: string, files: readonly File[]) =>
  pastedFiles({ files, types: text === "" ? ["Files"] : ["text/plain", "Files"], getText: () => text }).map(({ name }) => name);

test("a file that was copied is a file, with its name, its path or its address beside it", () => {
  for (const text of ["", "報告.pdf", "C:\\文档\\報告.pdf", "/home/li/報告.pdf\n", "file:///home/li/%E5%A0%B1%E5%91%8A.pdf"]) {
    expect(namesOf(text, named("報告.pdf"))).toEqual(["報告.pdf"]);
  }
  expect(namesOf("a.txt\r\nb.txt", named("a.txt", "b.txt"))).toEqual(["a.txt", "b.txt"]);
});

test("a text that comes with its picture stays a text", () => {
  for (const text of ["姓名\t城市", "image", "see image.png", "file:///%E5%A0%zz", "a.txt\nand a.txt"]) {
    expect(namesOf(text, named("image.png"))).toEqual([]);
  }
});
