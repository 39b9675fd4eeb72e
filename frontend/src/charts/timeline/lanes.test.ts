import { describe, expect, it } from "vitest";

import { model, T0, TICK } from "./fixtures";
import { highest, laneLimitAt, laneTop, laneValue, laneWords, overlappingMarks, valueAt } from "./lanes";
import type { DataLane, TimelineModel } from "./model";

const MIB = 1024 * 1024;

const memory: DataLane = {
  id: "memory",
  title: "Memory of the container",
  unit: "bytes",
  tUs: Float64Array.from([0, 1, 2, 3], (tick) => T0 + tick * TICK),
  stepUs: TICK,
  lines: [
    { name: "in use", style: "area", hot: false, hotAbove: 0, values: Float64Array.from([100 * MIB, 120 * MIB, NaN, 150 * MIB]) },
    { name: "cannot be taken back", style: "line", hot: true, hotAbove: 0, values: Float64Array.from([90 * MIB, 110 * MIB, NaN, 140 * MIB]) },
  ],
  limits: [
    { fromUs: T0, value: 170 * MIB },
    { fromUs: T0 + 2 * TICK, value: null },
  ],
};
const killed = { fromUs: T0 + 3 * TICK, toUs: T0 + 3 * TICK, label: "coredns: killed", kind: "memory.oom_kill", attributes: {} };
const picture: TimelineModel = { ...model({ cpus: [0, 0, 0, 0] }), lanes: [memory], marks: [killed] };

describe("laneTop", () => {
  it("fits the limit, in the lane's own unit", () => {
    expect(laneTop(memory)).toBe(200 * MIB);
  });

  it("does not flatten the lines under a limit far away", () => {
    expect(laneTop({ ...memory, limits: [{ fromUs: T0, value: 8192 * MIB }] })).toBe(200 * MIB);
  });

  it("is above zero without data", () => {
    expect(laneTop({ ...memory, lines: [], limits: [] })).toBe(1);
  });
});

describe("values", () => {
  const [inUse] = memory.lines;

  it("finds the tick under the cursor", () => {
    if (inUse === undefined) throw new Error("no line");
    expect(valueAt(memory, inUse, T0 + TICK + 50)).toBe(120 * MIB);
    expect(valueAt(memory, inUse, T0 + 2 * TICK)).toBeNull();
    expect(valueAt(memory, inUse, T0 - 1)).toBeNull();
  });

  it("takes the highest value of a view", () => {
    if (inUse === undefined) throw new Error("no line");
    expect(highest(memory, inUse, { fromUs: T0, toUs: T0 + 2 * TICK })).toBe(120 * MIB);
    expect(highest(memory, inUse, { fromUs: T0 + 2 * TICK, toUs: T0 + 3 * TICK })).toBeNull();
  });

  it("knows the limit of a time", () => {
    expect(laneLimitAt(memory, T0 + TICK)).toBe(170 * MIB);
    expect(laneLimitAt(memory, T0 + 3 * TICK)).toBeNull();
  });

  it("are shown in their unit", () => {
    expect(laneValue(3_140_000, "1")).toBe("3.14 M");
    expect(laneValue(0.25, "ratio")).toBe("25 %");
    expect(laneValue(NaN, "cpu")).toBe("–");
    expect(laneValue(5_000_000, "us")).toBe("5,000 ms");
  });
});

describe("laneWords", () => {
  it("names harmful values and events", () => {
    expect(laneWords(picture, { fromUs: T0, toUs: T0 + 2 * TICK })).toEqual(["cannot be taken back up to 110 MiB"]);
    expect(laneWords(picture, { fromUs: T0, toUs: T0 + 4 * TICK })).toEqual(["cannot be taken back up to 140 MiB", "coredns: killed"]);
  });

  it("counts a point in time if it lies inside", () => {
    expect(overlappingMarks(picture, { fromUs: T0 + 3 * TICK, toUs: T0 + 4 * TICK })).toHaveLength(1);
    expect(overlappingMarks(picture, { fromUs: T0, toUs: T0 + 3 * TICK })).toHaveLength(0);
  });
});
