import type { Verification } from "@/api/incidents";

import { blockExtent, blockLanes, progressOf } from "./blocks";

const MIN = 60_000_000;
const T0 = Date.parse("2026-11-21T12:00:00Z") * 1000;
const lane = (id: string, values: (number | null)[]) => ({ id, title: id, unit: "ms/min", values });
const series = (from: number, throttled: (number | null)[], slow: (number | null)[]): NonNullable<Verification["before"]> => ({
  t_us: throttled.map((_, index) => from + index * 10_000_000),
  step_us: 10_000_000,
  lanes: [lane("throttled_ms_per_min", throttled), lane("slow_ratio", slow), lane("load.queries", throttled.map(() => 100))],
});
const measure = (metric: string, decides = true): Verification["measures"][number] => ({
  metric, title: metric, unit: "ms/min", better: "lower", before: 450, after: null, ratio: null, p_value: null, test: null, decides, predicted: null, promised: null, inside: null,
});

const verification: Verification = {
  id: 1, state: "waiting", started_by: "ada", applied_at: "2026-11-21T12:02:00Z", fix_id: "raise_cpu_limit", fix_title: "Raise the CPU limit", changes: [],
  subject_id: 1, subject_name: "coredns", before_from: "2026-11-21T12:00:00Z", before_to: "2026-11-21T12:02:00Z", after_from: null, after_to: null,
  waiting_for: "More data.", needed_s: 300, collected_s: 90, verdict: null, measures: [measure("throttled_ms_per_min"), measure("slow_ratio")], before: series(T0, [600, null, 300], [0.02, null, null]), after: null,
  notes: [], finished_at: null,
};

describe("the chart of a verification", () => {
  it("draws each block at its middle, and leaves out missing ones", () => {
    const [throttled, slow] = blockLanes(verification);
    expect(throttled!.before).toEqual([{ us: T0 + 5_000_000, value: 600 }, { us: T0 + 25_000_000, value: 300 }]);
    expect(slow!.before).toEqual([{ us: T0 + 5_000_000, value: 0.02 }]);
  });

  it("leaves out a metric without data", () => {
    expect(blockLanes({ ...verification, before: series(T0, [1], [null]) }).map(({ metric }) => metric)).toEqual(["throttled_ms_per_min"]);
  });

  it("draws the deciding figures, and the others only if none of those can be drawn", () => {
    const measures = [measure("throttled_ms_per_min", false), measure("slow_ratio")];
    expect(blockLanes({ ...verification, measures }).map(({ metric }) => metric)).toEqual(["slow_ratio"]);
    expect(blockLanes({ ...verification, measures: measures.slice(0, 1) }).map(({ metric }) => metric)).toEqual(["throttled_ms_per_min"]);
  });

  it("keeps room for the prediction", () => {
    const predicted = { low: 900, expected: 1000, high: 1200, level: 0.9 };
    expect(blockLanes({ ...verification, measures: [{ ...measure("throttled_ms_per_min"), promised: predicted }] })[0]!.top).toBeGreaterThanOrEqual(1200);
    expect(blockExtent(verification).toUs).toBeGreaterThanOrEqual(T0 + 3 * MIN);
  });

  it("shows the progress", () => {
    expect(progressOf(verification)).toEqual({ doneS: 90, ofS: 300, text: "90 s of 5 min" });
    expect(progressOf({ needed_s: 60, collected_s: 75 })).toMatchObject({ doneS: 60, ofS: 60 });
    expect(progressOf({ needed_s: null, collected_s: null })).toBeNull();
  });
});
