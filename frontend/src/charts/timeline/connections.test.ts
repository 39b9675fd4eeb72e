import { childLimitAt, connectionStats, connectionTop, connectionWords, hasConnections } from "./connections";
import { model, T0, TICK } from "./fixtures";
import type { TimelineModel } from "./model";
import { wholeSplits } from "./scales";

const none = Float64Array.of(NaN, NaN, NaN);
const busy: TimelineModel = {
  ...model({ cpus: [0.1, 0.1, 0.1] }),
  connections: {
    tUs: Float64Array.of(T0, T0 + TICK, T0 + 2 * TICK),
    stepUs: TICK,
    connections: Float64Array.of(15, 44, NaN),
    idle: none,
    children: Float64Array.of(15, 20, 20),
    backlog: Float64Array.of(0, 24, 3),
    dropped: Float64Array.of(0, 2, 3),
    upstream: none,
    upstreamIdle: none,
  },
  childLimits: [{ fromUs: T0, limit: 20 }],
  errors: [{ fromUs: T0 + TICK + 5, toUs: T0 + TICK + 5, label: "io_timeout", attributes: { count: "3" } }],
};

describe("connections of a span", () => {
  it("takes the highest gauge, sums drops, and leaves out missing ticks", () => {
    expect(connectionStats(busy, { fromUs: T0, toUs: T0 + 3 * TICK })).toEqual({
      connections: 44, idle: null, children: 20, backlog: 24, upstream: null, upstreamIdle: null, dropped: 5, errorLines: 3, limit: 20,
    });
  });

  it("counts the tick that the cursor is in, and no other", () => {
    expect(connectionStats(busy, { fromUs: T0, toUs: T0 + TICK })).toMatchObject({ connections: 15, backlog: 0, errorLines: 0 });
    expect(connectionStats(busy, { fromUs: T0 + 2 * TICK, toUs: T0 + 3 * TICK })).toMatchObject({ connections: null, backlog: 3, dropped: 3 });
  });

  it("has a text", () => {
    expect(connectionWords(busy, busy.extent).join("; ")).toBe(
      "up to 20 children of 20; up to 44 TCP connections; up to 24 in the accept queue; 5 connections dropped; 3 error lines",
    );
    expect(connectionWords(model({ cpus: [0.1] }), busy.extent)).toEqual([]);
  });

  it("draws no lane for zeros", () => {
    expect(hasConnections(busy)).toBe(true);
    const zeros = Float64Array.of(0, 0, 0);
    const ticks = busy.connections as NonNullable<TimelineModel["connections"]>;
    expect(hasConnections({ ...busy, connections: { ...ticks, connections: zeros, children: zeros, backlog: zeros, dropped: zeros } })).toBe(false);
    expect(hasConnections(model({ cpus: [0.1] }))).toBe(false);
  });

  it("leaves room above the limit, unless that is far away", () => {
    expect(connectionTop(busy)).toBe(44);
    expect(connectionTop({ ...busy, childLimits: [{ fromUs: T0, limit: 60 }] })).toBeCloseTo(69);
    expect(connectionTop({ ...busy, childLimits: [{ fromUs: T0, limit: 2000 }] })).toBe(44);
  });

  it("knows the limit of each time", () => {
    const steps = [{ fromUs: 10, limit: 20 }, { fromUs: 50, limit: 200 }];
    expect([childLimitAt(steps, 5), childLimitAt(steps, 10), childLimitAt(steps, 60), childLimitAt([], 5)]).toEqual([20, 20, 200, null]);
  });
});

describe("wholeSplits", () => {
  it("marks whole numbers within the lane", () => {
    expect([1, 7, 23, 44, 69, 150].map(wholeSplits)).toEqual([[0, 1], [0, 3, 6], [0, 10, 20], [0, 20, 40], [0, 30, 60], [0, 50, 100]]);
  });
});
