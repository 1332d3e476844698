// The same for each of many, a few at a time.

const AT_ONCE = 4; // requests

export interface Outcome {
  readonly done: readonly string[];
  /** The first of those that were refused; null: none was. */
  readonly error: Error | null;
}

/** Does `act` for each id, and tells `onDone` how many have been tried. One that is refused does not hold up the others. */
export async function forEach(ids: readonly string[], act: (id: string) => Promise<void>, onDone: (count: number) => void): Promise<Outcome> {
  const done: string[] = [];
  const rest = [...ids];
  let error: Error | null = null;
  const work = async () => {
    for (let id = rest.shift(); id !== undefined; id = rest.shift()) {
      try {
        await act(id);
        done.push(id);
      } catch (refused) {
        error ??= refused as Error;
      }
      onDone(ids.length - rest.length);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { done, error };
}
