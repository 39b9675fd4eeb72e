import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";

import type { TokenInfo } from "@/api/settings";

import { TokenTable } from "./TokenTable";

const token = (kind: TokenInfo["kind"], name: string): TokenInfo => ({
  id: 7,
  kind,
  name,
  hint: "9f3a",
  scopes: ["incidents:read"],
  owner: "Ada",
  owner_id: 1,
  created_at: "2026-11-01T10:00:00Z",
  created_by: "Ada",
  expires_at: null,
  last_used_at: null,
  revoked_at: null,
});

describe("TokenTable", () => {
  it("asks before it revokes, with the token's name and what stops", async () => {
    const user = userEvent.setup();
    const revoked = vi.fn();
    render(<TokenTable tokens={[token("ingest", "node-7")]} refusal={null} onRevoke={revoked} />);
    await user.click(screen.getByRole("button", { name: "Revoke node-7" }));
    const dialog = screen.getByRole("dialog", { name: "Revoke token: node-7" });
    expect(dialog).toHaveAccessibleDescription(/^Collectors and senders that use it are refused from their next batch on/);
    expect(within(dialog).getByText("Never used.")).toBeVisible();
    await user.click(within(dialog).getByRole("button", { name: "Cancel" }));
    expect(revoked).not.toHaveBeenCalled();

    await user.click(screen.getByRole("button", { name: "Revoke node-7" }));
    await user.click(screen.getByRole("button", { name: "Revoke token" }));
    expect(revoked).toHaveBeenCalledExactlyOnceWith(7);
    expect(screen.queryByRole("dialog")).toBeNull();
  });

  it("says of an API token that programs stop, and tells who may not revoke it why", async () => {
    const user = userEvent.setup();
    const { rerender } = render(<TokenTable tokens={[token("api", "grafana")]} refusal={null} onRevoke={vi.fn()} />);
    await user.click(screen.getByRole("button", { name: "Revoke grafana" }));
    expect(screen.getByRole("dialog")).toHaveAccessibleDescription(/^Programs that use it are refused/);
    await user.click(screen.getByRole("button", { name: "Cancel" }));

    rerender(<TokenTable tokens={[token("api", "grafana")]} refusal="Ask an admin of Acme." onRevoke={vi.fn()} />);
    const button = screen.getByRole("button", { name: "Revoke grafana" });
    expect(button).toHaveAccessibleDescription("Ask an admin of Acme.");
    await user.click(button);
    expect(screen.queryByRole("dialog")).toBeNull();
  });
});
