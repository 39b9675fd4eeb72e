import type { Cell } from "@/lib/csv";
import { toRfc3339 } from "@/lib/time";
import type { TimeView } from "@/lib/timeView";

import { tablesOf } from "./csv";
import { model, T0, TICK } from "./fixtures";
import type { TimelineModel } from "./model";

const view: TimeView = { fromUs: T0 + 1.5 * TICK, toUs: T0 + 4 * TICK };

function table(made: TimelineModel, name: string): { columns: readonly string[]; rows: Cell[][] } {
  const found = tablesOf(made, made, view).find((one) => one.name === name);
  if (found === undefined) throw new Error(`no table ${name}`);
  return { columns: found.columns, rows: [...found.rows()].map((row) => [...row]) };
}

const made = model({
  cpus: [0.1, 0.2, null, 0.6, 0.9],
  throttledTicks: [3],
  answers: [
    { atUs: TICK, latencyUs: 400 },
    { atUs: 3 * TICK, latencyUs: 90_000 },
    { atUs: 3.2 * TICK, latencyUs: 800, result: 4 },
    { atUs: 4 * TICK, latencyUs: 500 },
  ],
  gc: [
    [0, TICK],
    [3 * TICK, 3 * TICK + 5000],
  ],
});

describe("tables of the timeline", () => {
  it("have the bars of the view, including one that starts before it; missing ticks are empty", () => {
    const { columns, rows } = table(made, "CPU usage");
    expect(columns).toEqual(["Time (UTC)", "Tick (ms)", "CPU usage (CPU)", "Mean CPU usage (CPU)", "CPU limit (CPU)"]);
    expect(rows.map(([at, , cpus]) => [at, cpus])).toEqual([
      [toRfc3339(T0 + TICK), 0.2],
      [toRfc3339(T0 + 2 * TICK), NaN],
      [toRfc3339(T0 + 3 * TICK), 0.6],
    ]);
    expect(rows.at(-1)).toEqual([toRfc3339(T0 + 3 * TICK), 100, 0.6, 0.6, 0.5]);
  });

  it("have one row per dot", () => {
    const { rows } = table(made, "Single answers");
    expect(rows).toEqual([
      [toRfc3339(T0 + 3 * TICK), 90, "yes", "answered", null, "example. A"],
      [toRfc3339(T0 + 3.2 * TICK), 0.8, "no", "timed out", null, "example. A"],
    ]);
  });

  it("have the visible GC cycles", () => {
    expect(table(made, "GC cycles").rows).toEqual([[toRfc3339(T0 + 3 * TICK), toRfc3339(T0 + 3 * TICK + 5000), 5, ""]]);
  });

  it("distinguish coarse ticks from the fine ones drawn over them", () => {
    const fine = { ...made.cpu, tUs: Float64Array.of(T0 + 2 * TICK), stepUs: 10_000, cpus: Float64Array.of(3) };
    const { rows } = table({ ...made, cpu: fine, coarse: made.cpu }, "CPU usage");
    expect(rows.map(([, step]) => step)).toEqual([100, 100, 100, 10]);
  });

  it("have a unit for each lane", () => {
    const lane = { id: "m", title: "Memory", unit: "bytes", tUs: Float64Array.of(T0 + 2 * TICK), stepUs: TICK, lines: [{ name: "in use", style: "area", hot: false, hotAbove: 0, values: Float64Array.of(5) }], limits: [{ fromUs: T0, value: 7 }] } as const;
    expect(table({ ...made, lanes: [lane] }, "Memory")).toEqual({ columns: ["Time (UTC)", "Tick (ms)", "in use (bytes)", "limit (bytes)"], rows: [[toRfc3339(T0 + 2 * TICK), 100, 5, 7]] });
  });

  it("match the existing lanes", () => {
    expect(tablesOf(made, made, view).map(({ name }) => name)).toEqual(["CPU usage", "Throttled", "GC cycles", "Single answers", "Answers per tick"]);
  });
});
