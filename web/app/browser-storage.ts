// What the browser keeps for the page. One that has no room, or keeps nothing, is no failure: it lasts as long as the page.

type Place = "browser" | "tab";

function storage(place: Place): Storage {
  return place === "tab" ? sessionStorage : localStorage; // either may throw where cookies are blocked
}

export function readStored(name: string, place: Place = "browser"): string | null {
  try {
    return storage(place).getItem(name);
  } catch {
    return null;
  }
}

// null: not any more.
export function writeStored(name: string, value: string | null, place: Place = "browser"): void {
  try {
    if (value === null) storage(place).removeItem(name);
    else storage(place).setItem(name, value);
  } catch {
    // As above.
  }
}

// A value that was written as JSON; null where there is none, or where it is not what this page wrote.
export function readStoredJson(name: string): unknown {
  return parsed(readStored(name));
}

export function parsed(stored: string | null): unknown {
  try {
    return JSON.parse(stored ?? "null");
  } catch {
    return null;
  }
}

export function storedNames(prefix: string, place: Place = "browser"): string[] {
  try {
    return Object.keys(storage(place)).filter((name) => name.startsWith(prefix));
  } catch {
    return [];
  }
}
