// What is dropped or pasted, as files: folders with all that is in them.

export interface DroppedFiles {
  readonly files: readonly File[];
  readonly note: "" | "folderEmpty" | "folderUnreadable";
}

const MOST_ENTRIES = 2000; // that are looked at in folders
const PATH_SIGN = " › "; // a name of a file has no slash

// Looks into folders until there are more than `most` files. What is hidden there is left out.
export async function droppedFiles(transfer: DataTransfer, most: number): Promise<DroppedFiles> {
  const entries = [...transfer.items].filter(({ kind }) => kind === "file").map((item) => item.webkitGetAsEntry());
  const plain = [...transfer.files]; // both are gone when the event is over
  if (!entries.some((entry) => entry?.isDirectory)) return { files: plain, note: "" };
  const found: File[] = [];
  const waiting = entries.filter((entry) => entry !== null).map((entry) => ({ entry, path: "" }));
  try {
    for (let looked = 0; waiting.length > 0 && looked < MOST_ENTRIES && found.length <= most; looked += 1) {
      const next = waiting.shift();
      if (!next) break;
      const name = next.path + next.entry.name;
      if (isFolder(next.entry)) {
        const inside = (await entriesOf(next.entry)).filter((each) => !each.name.startsWith("."));
        waiting.push(...inside.sort((one, other) => one.name.localeCompare(other.name)).map((entry) => ({ entry, path: name + PATH_SIGN })));
      } else found.push(named(await fileOf(next.entry as FileSystemFileEntry), name));
    }
  } catch {
    return { files: found, note: "folderUnreadable" };
  }
  return { files: found, note: found.length === 0 ? "folderEmpty" : "" };
}

// The files of what is pasted. A file that was copied in a file manager comes with its name as a text; a table of Excel
// is a text that comes with its picture, too.
export function pastedFiles({ files, types, getText }: { files: readonly File[]; types: readonly string[]; getText: () => string }): readonly File[] {
  if (files.length === 0 || !types.includes("text/plain")) return files;
  const lines = getText().split(/[\r\n]+/).map(baseName).filter(Boolean);
  const names = files.map(({ name }) => name.normalize());
  return lines.length > 0 && lines.every((line) => names.includes(line)) ? files : [];
}

function baseName(line: string): string {
  const path = line.trim().replace(/[/\\]+$/, "");
  const last = path.split(/[/\\]/).at(-1) ?? "";
  try {
    return (path.startsWith("file:") ? decodeURIComponent(last) : last).normalize();
  } catch {
    return last.normalize();
  }
}

const isFolder = (entry: FileSystemEntry): entry is FileSystemDirectoryEntry => entry.isDirectory;

const named = (file: File, name: string): File => name === file.name ? file : new File([file], name, { type: file.type, lastModified: file.lastModified });

const fileOf = (entry: FileSystemFileEntry): Promise<File> => new Promise((resolve, reject) => entry.file(resolve, reject));

// A reader gives a hundred at a time, and none at the end.
async function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const found: FileSystemEntry[] = [];
  while (found.length < MOST_ENTRIES) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) break;
    found.push(...some);
  }
  return found;
}
