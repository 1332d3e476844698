// An image that the server keeps, fetched with the reader's key.

import { useEffect, useState } from "react";

import { useApp } from "../state";
import { type FileInfo, pictureOf } from "./artifact-files";

/** The address of a picture that a file brought along. */
export const useBroughtPicture = (ref: string): string | undefined => useApp(({ replay }) => replay?.pictures?.[ref]);

interface Props {
  readonly file: FileInfo;
  readonly onTrouble: (error: unknown) => void;
}

export function Picture({ file, onTrouble }: Props) {
  const [address, setAddress] = useState<string | null>(null);
  const { ref, mime } = file;
  const isFile = useApp(({ replay }) => replay !== null && replay.recording !== null);
  const brought = useBroughtPicture(ref);
  useEffect(() => {
    if (isFile) return;
    const ending = new AbortController();
    let made: string | null = null;
    pictureOf({ ref, mime }, ending.signal).then((found) => {
      made = found;
      if (ending.signal.aborted) URL.revokeObjectURL(found);
      else setAddress(found);
    }, (error: unknown) => ending.signal.aborted || onTrouble(error));
    return () => {
      ending.abort();
      if (made !== null) URL.revokeObjectURL(made);
    };
    // eslint-disable-next-line react-hooks/exhaustive-deps -- `onTrouble` is another function with each drawing
  }, [ref, mime, isFile]);
  const source = brought ?? address;
  if (source === null) return null;
  return <img src={source} alt={file.name ?? ref} onError={() => onTrouble({ code: "no_picture" })} />;
}
