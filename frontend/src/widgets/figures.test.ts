import { figuresOf } from "./figures";

const none = {
  queries: null, slow_queries: null, slow_ratio: null, p50_ms: null, p99_ms: null, max_ms: null, throttled_ratio: null, throttled_ms: null,
  cpu_mean: null, cpu_limit: null, cpu_peak_100ms: null, gc_cycles: null,
};

describe("figuresOf", () => {
  it("leaves out what is not known", () => {
    expect(figuresOf(none)).toEqual([]);
  });

  it("marks what hurts, and only that", () => {
    const figures = figuresOf({ ...none, queries: 1000, slow_queries: 0, slow_ratio: 0, cpu_mean: 0.2, cpu_limit: 0.5, cpu_peak_100ms: 0.9 });
    expect(figures.filter((figure) => figure.hot).map((figure) => figure.label)).toEqual(["Peak CPU in 100 ms"]);
    expect(figures.find((figure) => figure.label === "Slow answers")).toMatchObject({ value: "0 %", detail: "0 of 1,000 queries" });
  });
});
