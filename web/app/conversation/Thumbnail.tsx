// A small picture of a file that goes with the next message: of the file itself, or of what the server has of it.

import { useEffect, useState } from "react";

import { isPicture, LARGEST_PREVIEW } from "./artifact-files";
import type { Upload } from "./drafts";
import { Picture } from "./Picture";

export function Thumbnail({ upload: { name, file, artifact, state } }: { readonly upload: Upload }) {
  const [isBroken, setBroken] = useState(false);
  const isOwn = file !== undefined && isPicture({ ref: name, mime: file.type, size: file.size }, LARGEST_PREVIEW);
  const address = useAddress(isOwn ? file : undefined);
  if (isBroken || state === "failed") return null;
  if (address !== null) return <span className="thumbnail"><img src={address} alt="" onError={() => setBroken(true)} /></span>;
  if (isOwn || artifact === undefined || !isPicture(artifact, LARGEST_PREVIEW)) return null;
  return <span className="thumbnail" aria-hidden><Picture file={artifact} onTrouble={() => setBroken(true)} /></span>;
}

function useAddress(file: File | undefined): string | null {
  const [address, setAddress] = useState<string | null>(null);
  useEffect(() => {
    if (file === undefined) return undefined;
    const made = URL.createObjectURL(file);
    // eslint-disable-next-line react-hooks/set-state-in-effect -- the address is an outer resource with a life of its own
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [file]);
  return file === undefined ? null : address;
}
