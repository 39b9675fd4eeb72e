import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";

import { api } from "@/api/client";
import type { ResourceDetail, SeriesChart } from "@/api/resources";

import { Metrics } from "./Metrics";

// The drawing needs a browser: tests/e2e has it.
vi.mock("@/charts/MetricChart", () => ({ MetricChart: ({ title }: { title: string }) => <h3>{title}</h3> }));

const NAMES = Array.from({ length: 45 }, (_, at) => `metric_${at}`);
/** Recorded in the window, one in each part of the list. */
const RECORDED = ["metric_3", "metric_24", "metric_44"];

const chart = (metric: string): SeriesChart => {
  const values = [RECORDED.includes(metric) ? 1 : null];
  return { resource_id: 5, metric, labels: {}, unit: "1", kind: "gauge", meaning: "", step_us: 100_000, resolution: "tick", t_us: [0], low: values, high: values, mean: values, count: null };
};

describe("the metrics of a resource", () => {
  it("are all asked for, and only those without data are called not recorded", async () => {
    const asked: string[][] = [];
    vi.spyOn(api, "GET").mockImplementation((...[, init]: unknown[]) => {
      const { metric } = (init as { params: { query: { metric: string[] } } }).params.query;
      asked.push(metric);
      return Promise.resolve({ data: { series: metric.map(chart), left_out: [] }, response: new Response() } as never);
    });
    render(
      <QueryClientProvider client={new QueryClient()}>
        <Metrics resource={{ id: 5, name: "web", metrics: NAMES } as ResourceDetail} window={{ fromUs: 0, toUs: 1_000_000 }} changes={[]} />
      </QueryClientProvider>,
    );
    expect(await screen.findByText("42 metrics not recorded here")).toBeInTheDocument();
    expect(asked.flat()).toEqual(NAMES);
    expect(Math.max(...asked.map((metrics) => metrics.length))).toBeLessThanOrEqual(20);
    expect(screen.getAllByRole("heading").map(({ textContent }) => textContent)).toEqual(["Metric 3", "Metric 24", "Metric 44"]);
  });
});
