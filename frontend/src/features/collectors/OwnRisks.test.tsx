import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from "@tanstack/react-router";
import { render, screen } from "@testing-library/react";

import { risksQuery, type Risk } from "@/api/risks";

import { OwnRisks } from "./OwnRisks";

const risk = (title: string): Risk => ({
  id: 1,
  cause: "cpu/limit_too_low",
  cause_title: "CPU limit too low",
  title,
  summary: "The worker needs more CPU than its limit allows.",
  harm: "not_measured",
  harm_reason: "Latency is not measured.",
  confidence: "high",
  subject: { resource_id: 7, kind: "cgroup", key: "/a", name: "jitterscope/jitterscope-worker-0/worker", node: "node-1" },
  first_seen_at: "2026-11-21T10:00:00Z",
  last_seen_at: "2026-11-21T10:05:00Z",
  impact: {},
  figures: [],
  evidence: [],
  fixes: [],
});

function show(own: Risk[], others: Risk[]): void {
  vi.spyOn(window, "scrollTo").mockImplementation(() => undefined);
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(risksQuery({ own: true }).queryKey, { pages: [{ items: own, next_cursor: null }], pageParams: [undefined] });
  client.setQueryData(risksQuery().queryKey, { pages: [{ items: others, next_cursor: null }], pageParams: [undefined] });
  const Page = (): React.ReactElement => (
    <>
      <p>page</p>
      <OwnRisks />
    </>
  );
  const router = createRouter({ routeTree: createRootRoute({ component: Page }), history: createMemoryHistory({ initialEntries: ["/"] }) });
  render(
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  );
}

describe("OwnRisks", () => {
  it("lists risks of the product, and none of its user", async () => {
    show([risk("The worker is throttled")], [risk("PostgreSQL is throttled")]);
    expect(await screen.findByRole("region", { name: "Jitterscope itself" })).toHaveTextContent("The worker is throttled");
    expect(screen.getByText(/jitterscope-worker-0/)).toBeVisible();
    expect(screen.queryByText("PostgreSQL is throttled")).toBeNull();
  });

  it("is absent without any", async () => {
    show([], [risk("PostgreSQL is throttled")]);
    expect(await screen.findByText("page")).toBeVisible();
    expect(screen.queryByRole("region")).toBeNull();
  });
});
