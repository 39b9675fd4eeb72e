import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from "@tanstack/react-router";
import { render, screen, within } from "@testing-library/react";

import { risksQuery, type Risk } from "@/api/risks";

import { RisksPage } from "./RisksPage";

const risk = (id: number, title: string, harm: Risk["harm"], reason: string): Risk => ({
  id,
  cause: "cpu/limit_too_low",
  cause_title: "CPU limit too low",
  title,
  summary: "What was found.",
  harm,
  harm_reason: reason,
  confidence: "high",
  subject: { resource_id: 1, kind: "cgroup", key: "/a", name: "default/a", node: "node-1" },
  first_seen_at: "2026-11-21T10:00:00Z",
  last_seen_at: "2026-11-21T10:05:00Z",
  impact: {},
  figures: [],
  evidence: [],
  fixes: [],
});

function show(items: Risk[]): void {
  vi.spyOn(window, "scrollTo").mockImplementation(() => undefined);
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(risksQuery().queryKey, { pages: [{ items, next_cursor: null }], pageParams: [undefined] });
  const router = createRouter({ routeTree: createRootRoute({ component: RisksPage }), history: createMemoryHistory({ initialEntries: ["/"] }) });
  render(
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  );
}

describe("RisksPage", () => {
  it("distinguishes no harm from harm not measured", async () => {
    show([
      risk(2, "A is throttled", "none", "No harm measured in 5,000 answers."),
      risk(1, "B is throttled", "not_measured", "Harm not measured: no answers of a server were recorded."),
    ]);
    const [first, second] = await screen.findAllByRole("listitem");
    expect(within(first!).getByText("No harm measured in 5,000 answers.")).toBeVisible();
    expect(within(second!).getByText("Harm not measured: no answers of a server were recorded.")).toBeVisible();
    expect(within(second!).queryByText(/No harm/)).toBeNull();
  });
});
