import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from "@tanstack/react-router";
import { render, screen, within } from "@testing-library/react";

import { causesQuery } from "@/api/causes";
import { meQuery, type Me } from "@/api/me";
import type { Received } from "@/api/metrics";

import { OnlyRemoteWrite } from "./RemoteWrite";

const received: Received = {
  senders: [
    { token: "staging", agent: "Prometheus/3.6.0", first_at: "2026-11-21T10:00:00Z", last_at: "2026-11-21T10:05:00Z", requests: 5, samples: 900, samples_per_s: 80, not_written: 2, newest_sample: null },
  ],
  senders_found: 3,
  series: 1204,
  metrics: 310,
  samples_per_s: 80,
  newest_sample: null,
};

const cause = (id: string, title: string): object => ({ id, title, summary: "", mechanism: "", needs: [], rivals: [], references: [], false_positives: [] });

function show(...scopes: string[]): void {
  vi.spyOn(window, "scrollTo").mockImplementation(() => undefined);
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData<object[]>(causesQuery().queryKey, [cause("cpu/steal", "The hypervisor takes the CPU"), cause("dns/udp_loss", "Datagrams are lost")]);
  client.setQueryData(meQuery().queryKey, { role: "viewer", scopes, organization: { id: 1, name: "Acme" } } as Me);
  const router = createRouter({ routeTree: createRootRoute({ component: () => <OnlyRemoteWrite received={received} /> }), history: createMemoryHistory({ initialEntries: ["/"] }) });
  render(
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  );
}

describe("Home without a collector", () => {
  it("shows received metrics, their senders, and the causes that need a collector", async () => {
    show("collectors:write");
    expect(await screen.findByText("1,204 series of 310 metrics, 80 samples/s, from 3 senders.")).toBeVisible();
    const [, row] = within(screen.getByRole("table", { name: "Senders of remote write" })).getAllByRole("row");
    expect(row).toHaveTextContent(/^Prometheus\/3.6.0staging80\/s2/);
    expect(row).toHaveTextContent(/none$/);
    expect(screen.getByText("2 more senders", { exact: false })).toBeVisible();
    expect(screen.getByText("2 causes need a collector.")).toBeVisible();
    expect(screen.getByRole("link", { name: "Datagrams are lost" })).toHaveAttribute("href", "/help/causes?cause=dns%2Fudp_loss");
    expect(screen.getByRole("link", { name: "Add collector" })).toBeVisible();
  });

  it("says why the role cannot add a collector", async () => {
    show();
    expect(await screen.findByText("2 causes need a collector.")).toBeVisible();
    expect(screen.queryByRole("link", { name: "Add collector" })).toBeNull();
    expect(screen.getByRole("button", { name: "Add collector" })).toHaveAccessibleDescription(/^Your role, viewer, cannot add collectors/);
  });
});
