import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { fireEvent, render, screen, waitFor } from "@testing-library/react";

import { api } from "@/api/client";
import { collectionQuery, type Collection } from "@/api/collection";
import { meQuery, type Me } from "@/api/me";

import { WhatIsRead } from "./WhatIsRead";

const collection = (...off: string[]): Collection => ({
  switches: ["tcp_requests", "tcp_requests:read_kinds", "dns_names"].map((id) => ({ id, title: `Title of ${id}`, stops: `Stops ${id}.`, off: off.includes(id) })),
  changed_by: null,
  changed_at: null,
});

/** The requests, in order; the server echoes them. */
function show(scopes: string[], ...off: string[]): string[][] {
  const sent: string[][] = [];
  const answer = (): Promise<never> => Promise.resolve({ data: collection(...(sent.at(-1) ?? off)), response: new Response() } as never);
  vi.spyOn(api, "GET").mockImplementation(answer);
  vi.spyOn(api, "PUT").mockImplementation((...[, init]: unknown[]) => {
    sent.push((init as { body: { off: string[] } }).body.off);
    return answer();
  });
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(collectionQuery().queryKey, collection(...off));
  client.setQueryData(meQuery().queryKey, { role: "editor", scopes, organization: { id: 1, name: "Acme" } } as Me);
  render(
    <QueryClientProvider client={client}>
      <WhatIsRead />
    </QueryClientProvider>,
  );
  return sent;
}

const named = (id: string): HTMLElement => screen.getByRole("switch", { name: `Title of ${id}` });

describe("WhatIsRead", () => {
  it("switches one off and leaves the others", async () => {
    const sent = show(["organizations:write"], "dns_names");
    expect(named("dns_names")).not.toBeChecked();
    expect(named("tcp_requests")).toBeChecked();
    expect(named("tcp_requests")).toHaveAccessibleDescription("If off: Stops tcp_requests. tcp_requests");
    fireEvent.click(named("tcp_requests"));
    await waitFor(() => expect(named("tcp_requests")).not.toBeChecked());
    await waitFor(() => expect(sent).toEqual([["dns_names", "tcp_requests"]]));
    // Part of a source that is off is off too, and cannot be changed on its own.
    expect(named("tcp_requests:read_kinds")).not.toBeChecked();
    expect(named("tcp_requests:read_kinds")).toHaveAttribute("aria-disabled", "true");
  });

  it("tells users without permission why, and sends nothing", () => {
    const sent = show(["collectors:read"]);
    expect(screen.getByText("Your role, editor, cannot change settings of the organization. Ask an admin of Acme.")).toBeVisible();
    fireEvent.click(named("dns_names"));
    expect(named("dns_names")).toBeChecked();
    expect(sent).toEqual([]);
  });
});
