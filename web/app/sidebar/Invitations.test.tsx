import { fireEvent, render, screen, waitFor } from "@testing-library/react";
import { beforeEach, expect, test } from "vitest";

import { caller } from "../caller";
import { fakeServer } from "../fake-server";
import { settings } from "../settings";
import { Invitations } from "./Invitations";

const APOLLO = { project_id: "p_1", kind: "project", name: "Apollo", role: "editor", invited_by: "bob", invited_at: 1 };

beforeEach(() => {
  localStorage.clear();
  settings.set({ language: "en" });
  caller.set({ me: { user_id: "red/ada", tenant: "red", roles: ["member"], scopes: [], is_admin: false, is_operator: false, has_key: true, signed_in: false, models: [] } as never });
});

for (const [button, route] of [["Accept Apollo", "POST /api/invitations/p_1/accept"], ["Decline Apollo", "DELETE /api/invitations/p_1"]] as const) {
  test(`who is asked into a project answers: ${button}`, async () => {
    const answers: Record<string, unknown> = { "GET /api/invitations": { invitations: [APOLLO] }, [route]: undefined };
    const asked = fakeServer(answers);
    render(<Invitations />);
    await screen.findByText("bob invites you to Apollo as editor.");
    answers["GET /api/invitations"] = { invitations: [] };
    fireEvent.click(screen.getByRole("button", { name: button }));
    await waitFor(() => expect(asked.map((each) => each.route)).toContain(route));
    await waitFor(() => expect(screen.queryByText(/Apollo/)).toBeNull());
  });
}

test("who is alone at a gateway is asked by nobody", async () => {
  const asked = fakeServer({});
  caller.set({ me: { has_key: false } as never });
  render(<Invitations />);
  await Promise.resolve();
  expect(asked).toEqual([]);
});
