// Files for the reader.

// Hands a file to the reader's downloads.
export function saveFile(file: File, name = file.name): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the browser has begun to write it by then
}

// An export of one JSON object a line: the last line says so when it could not be finished.
export async function completeExport(file: File): Promise<File> {
  const last = (await file.slice(-4000).text()).trimEnd().split("\n").at(-1) ?? "";
  if (last.startsWith('{"kind":"error"')) throw new Error((JSON.parse(last) as { message?: string }).message ?? last);
  return file;
}
