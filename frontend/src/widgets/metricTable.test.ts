import { metricTable } from "./metricTable";

const AT_US = [Date.parse("2026-11-24T20:00:00Z") * 1000, Date.parse("2026-11-24T20:00:15Z") * 1000];

describe("the table of a metric's chart", () => {
  it("has a column per line with the unit, and leaves gaps empty", () => {
    const table = metricTable("dns_seconds_bucket", "s", AT_US, [
      { name: "p50", values: [0.01, null] },
      { name: "p90", values: [0.05, 0.06] },
      { name: "p99", values: [0.2, 0.3] },
    ]);
    expect(table.columns).toEqual(["Time (UTC)", "dns_seconds_bucket p50 (s)", "dns_seconds_bucket p90 (s)", "dns_seconds_bucket p99 (s)"]);
    expect([...table.rows()].map(([, ...values]) => values)).toEqual([
      [0.01, 0.05, 0.2],
      [null, 0.06, 0.3],
    ]);
    expect([...table.rows()][0]?.[0]).toMatch(/^2026-11-24T20:00:00/);
  });

  it("leaves out lines that are not drawn, and a unit that says nothing", () => {
    const table = metricTable("go_goroutines", "1", AT_US, [
      { name: "", values: null },
      { name: "value", values: [40, 41] },
      { name: "", values: null },
    ]);
    expect(table.columns).toEqual(["Time (UTC)", "go_goroutines value"]);
  });
});
