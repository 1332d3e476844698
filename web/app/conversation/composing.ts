// Whether a key belongs to an input method: while a Chinese word is being composed, Enter chooses it.

export function isComposing({ nativeEvent }: { readonly nativeEvent: KeyboardEvent }): boolean {
  // Safari ends the composition before that Enter; its `keyCode` is the only sign.
  // eslint-disable-next-line @typescript-eslint/no-deprecated
  return nativeEvent.isComposing || nativeEvent.keyCode === 229;
}
