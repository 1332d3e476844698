// What axe finds on the page of a component's test; colours and sizes are looked at in a browser.

import axe from "axe-core";

export async function violations(): Promise<string[]> {
  const { violations: found } = await axe.run(document.body, { rules: { "color-contrast": { enabled: false }, "region": { enabled: false } } });
  return found.map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ""}`);
}
