import type { PredictionOutcome } from "@/api/verification";

import { fixName, scaled } from "./words";

const outcome: PredictionOutcome = {
  id: 1, at: "2026-11-21T12:00:00Z", incident_id: 1, verification_id: 1, subject_name: "coredns", fix_id: "gomaxprocs", metric: "slow_ratio", title: "Slow answers", unit: "ratio",
  predicted: { low: 0.001, expected: 0.005, high: 0.01, level: 0.9 }, measured: 0.004, before: 0.02, inside: true, error_ratio: 0.25,
};

describe("an outcome next to its prediction", () => {
  it("is shown relative to the value before the fix", () => {
    expect(scaled(outcome)).toEqual({ low: 0.05, expected: 0.25, high: 0.5, measured: 0.2 });
  });

  it("has a scale even if the value before the fix was 0", () => {
    expect(scaled({ ...outcome, before: 0 })).toMatchObject({ high: 1, measured: 0.4 });
    expect(scaled({ ...outcome, before: null, predicted: { low: 0, expected: 0, high: 0, level: 0.9 }, measured: 0 })).toMatchObject({ high: 0, measured: 0 });
  });

  it("names unknown fixes", () => {
    expect(fixName("gomaxprocs")).toBe("GOMAXPROCS");
    expect(fixName("own_cgroup")).toBe("Own cgroup");
  });
});
