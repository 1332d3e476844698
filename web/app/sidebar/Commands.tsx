// The keys of the page, the list of them, and the command palette. It is always there, and shows nothing by itself.

export function Commands() {
  return null;
}
