import type { SeriesChart } from "@/api/resources";
import { compareWindow } from "@/lib/compareWindow";

import { byDifference, differenceText, distance, lineOf, offsetText, pairsOf } from "./pair";
import { agoS, compareSearch, otherFromUs } from "./search";

const chart = (metric: string, tUs: number[], high: (number | null)[]): SeriesChart => ({
  resource_id: 1, metric, labels: {}, unit: "us", kind: "delta", meaning: "", step_us: 100_000, resolution: "tick", t_us: tUs, low: high, high, mean: high.map(() => 1), count: null,
});

describe("the drawing of two sides", () => {
  it("has every value at its time from the start of its window, with gaps", () => {
    expect(lineOf(chart("a", [1000, 2000, 3000, 4000], [5, null, 7, 8]), 1000)).toEqual([[{ us: 0, value: 5 }], [{ us: 2000, value: 7 }, { us: 3000, value: 8 }]]);
    expect(lineOf(chart("a", [1000], [null]), 0)).toBeNull();
  });

  it("has one scale for both, and says what only one side recorded", () => {
    const [pair, alone] = pairsOf([chart("a", [0], [10])], 0, [chart("a", [500], [20]), chart("b", [500], [0])], 500);
    expect(pair).toMatchObject({ metric: "a", mine: [[{ us: 0, value: 10 }]], theirs: [[{ us: 0, value: 20 }]], top: 20 });
    expect(alone).toMatchObject({ metric: "b", mine: null, top: 1 });
    expect(pairsOf([chart("a", [0], [92_400])], 0, [], 0)[0]).toMatchObject({ top: 100_000 });
    expect(pairsOf([chart("c", [0], [null])], 0, [], 0)).toEqual([]);
  });

  it("begins with the metrics whose values differ most", () => {
    const line = (...values: number[]) => [values.map((value, us) => ({ us, value }))];
    expect(distance(line(1, 2, 3), line(3, 1, 2))).toBe(0);
    expect(distance(line(1, 1), line(2, 3))).toBe(1);
    expect(distance(line(1, 2, 3, 4), line(3, 4, 5, 6))).toBe(0.5);
    expect([distance(null, line(1)), distance(null, null)]).toEqual([1, 0]);
    const [t, u] = [[0, 1, 2, 3], [500, 501, 502, 503]];
    const mine = [chart("same", t, [1, 2, 3, 4]), chart("some", t, [1, 2, 3, 4]), chart("alone", t, [1, 2, 3, 4]), chart("all", t, [1, 2, 3, 4])];
    const theirs = [chart("same", u, [4, 3, 2, 1]), chart("some", u, [3, 4, 5, 6]), chart("all", u, [7, 8, 9, 9])];
    expect(byDifference(pairsOf(mine, 0, theirs, 500)).map(({ metric }) => metric)).toEqual(["alone", "all", "some", "same"]);
  });

  it("shows p99 for a distribution", () => {
    expect(lineOf({ ...chart("a", [0], [9]), kind: "distribution", mean: [4] }, 0)).toEqual([[{ us: 0, value: 4 }]]);
  });
});

describe("a comparison in the URL", () => {
  it("is with an hour ago, or with the same time of another resource", () => {
    const search = compareSearch({ resource: "5", from: 7_200_000_000, to: 7_260_000_000, mode: "x" });
    expect(search).toMatchObject({ resource: 5, mode: undefined });
    expect([agoS(search), otherFromUs(search)]).toEqual([3600, 3_600_000_000]);
    expect(otherFromUs({ ...search, other: 6 })).toBe(7_200_000_000);
    expect(otherFromUs({ ...search, other: 6, ago: 60 })).toBe(7_140_000_000);
  });

  it("opens with the visible window, at least a minute and at most an hour", () => {
    expect(compareWindow({ fromUs: 100_000_000, toUs: 105_000_000 })).toEqual({ fromUs: 72_500_000, toUs: 132_500_000 });
    expect(compareWindow({ fromUs: 0.4, toUs: 90_000_000 })).toEqual({ fromUs: 0, toUs: 90_000_000 });
    expect(compareWindow({ fromUs: 0, toUs: 7_200_000_000 })).toEqual({ fromUs: 3_600_000_000, toUs: 7_200_000_000 });
  });
});

describe("words", () => {
  it("say both figures and how sure the difference is", () => {
    const one = { metric: "m", title: "Throttled time", unit: "ms/min", better: "lower", this: 420, other: 0, ratio: null, p_value: 0.001, adjusted_p: 0.004, test: "t", differs: true } as const;
    expect(differenceText(one)).toBe("Throttled time: 420 ms/min, other 0 ms/min; differs, p = 0.004");
    expect(differenceText({ ...one, differs: false, adjusted_p: 1 })).toMatch(/no difference shown, p = 1$/);
    expect(differenceText({ ...one, adjusted_p: null })).toMatch(/not tested$/);
    expect([offsetText(0), offsetText(90_000_000), offsetText(120_000_000)]).toEqual(["+0 s", "+1 min 30 s", "+2 min"]);
  });
});
