import { gaps } from "./bars";
import { countsOf, isComplete, unkept } from "./counts";
import { model, T0, TICK } from "./fixtures";
import { slowestAnswer, spanStats, tickAt } from "./stats";
import { latencyTitle, summarize } from "./summary";

const story = model({
  cpus: [0.2, 0.9, 0.6, null, 0.2],
  throttledTicks: [1, 2],
  gc: [[100_000, 350_000]],
  answers: [
    { atUs: 10_000, latencyUs: 200 },
    { atUs: 150_000, latencyUs: 180_000 },
    { atUs: 160_000, latencyUs: 20_000 },
    { atUs: 420_000, latencyUs: 300, result: 4 },
  ],
});

describe("spanStats", () => {
  it("counts what is in the span and leaves missing ticks out of the mean", () => {
    const stats = spanStats(story, story.extent);
    expect(stats).toMatchObject({ ticks: 5, missingTicks: 1, overLimit: 2, throttledPeriods: 2, throttledUs: 200_000 });
    expect(stats.cpuMean).toBeCloseTo((0.2 + 0.9 + 0.6 + 0.2) / 4);
    expect(stats.cpuMax).toBe(0.9);
    expect(stats).toMatchObject({ queries: 4, slow: 1, dots: 4, failed: 1, maxUs: 180_000, gcCycles: 1, gcUs: 250_000 });
  });

  it("cuts GC cycles to the span", () => {
    expect(spanStats(story, { fromUs: T0, toUs: T0 + 2 * TICK }).gcUs).toBe(100_000);
  });

  it("says unknown, not zero, if nothing was recorded", () => {
    const stats = spanStats({ ...story, rate: { ...story.rate, queries: new Float64Array(5).fill(NaN) } }, { fromUs: T0 + 2 * TICK, toUs: T0 + 3 * TICK });
    expect(stats.queries).toBeNull();
    expect(stats.maxUs).toBeNull();
    expect(spanStats(story, { fromUs: T0 + 3 * TICK, toUs: T0 + 4 * TICK }).cpuMean).toBeNull();
  });

  it("takes the mean of the ticks of a point, not that of its highest ones", () => {
    const merged = { ...story, cpu: { ...story.cpu, stepUs: 3 * TICK, tUs: Float64Array.of(T0, T0 + 3 * TICK), cpus: Float64Array.of(0.9, 0.2), means: Float64Array.of(0.5, 0.1) } };
    expect(spanStats(merged, story.extent)).toMatchObject({ cpuMean: 0.3, cpuMax: 0.9, cpuTickUs: TICK });
    expect(summarize(merged, story.extent)).toContain("CPU mean 0.3 CPU, peak 0.9 CPU in 100 ms, limit 0.5 CPU; 1 point of 300 ms with a tick over the limit");
  });

  it("takes the share of a run of stalls that lies in the span", () => {
    const run = { ...story, throttled: [{ fromUs: T0, toUs: T0 + 4 * TICK, stoppedUs: 120_000, periods: 4 }] };
    expect(spanStats(run, { fromUs: T0, toUs: T0 + TICK }).throttledUs).toBe(30_000);
  });
});

describe("countsOf", () => {
  it("takes the tick around a shorter span, and says which it was", () => {
    expect(countsOf(story, { fromUs: T0 + 150_000, toUs: T0 + 160_000 })).toMatchObject({ of: { fromUs: T0 + TICK, toUs: T0 + 2 * TICK }, queries: 2 });
    expect(countsOf(story, { fromUs: T0 - 20_000, toUs: T0 - 10_000 })).toBeNull();
  });
});

describe("where single answers were kept", () => {
  const parts = [{ fromUs: T0 + TICK, toUs: T0 + 2 * TICK }];
  const partly = { ...story, answers: { ...story.answers, complete: parts } };

  it("is the complement of where they were not", () => {
    expect(unkept(story)).toEqual([]);
    expect(unkept(partly)).toEqual([{ fromUs: T0, toUs: T0 + TICK }, { fromUs: T0 + 2 * TICK, toUs: T0 + 5 * TICK }]);
    expect(unkept({ ...partly, served: [] })).toEqual([]);
  });

  it("excludes spans from which some were left out", () => {
    const [view] = parts;
    if (view === undefined) throw new Error("no part");
    expect(isComplete(partly.answers, view)).toBe(true);
    expect(isComplete({ ...partly.answers, truncated: 1 }, view)).toBe(false);
    expect(isComplete(partly.answers, story.extent)).toBe(false);
  });
});

describe("gaps", () => {
  it("finds missing ticks inside, and edges without data", () => {
    const wider = { ...story, extent: { fromUs: T0 - 3 * TICK, toUs: T0 + 7 * TICK } };
    expect(gaps(wider)).toEqual([
      { fromUs: T0 - 3 * TICK, toUs: T0 },
      { fromUs: T0 + 3 * TICK, toUs: T0 + 4 * TICK },
      { fromUs: T0 + 5 * TICK, toUs: T0 + 7 * TICK },
    ]);
  });

  it("joins neighboring missing ticks", () => {
    expect(gaps(model({ cpus: [0.1, null, null, 0.1] }))).toEqual([{ fromUs: T0 + TICK, toUs: T0 + 3 * TICK }]);
  });
});

describe("tickAt", () => {
  it("is the tick that contains the time", () => {
    expect(tickAt(story, T0 + 150_001)).toEqual({ fromUs: T0 + TICK, toUs: T0 + 2 * TICK });
    expect(tickAt(story, T0 - 1)).toBeNull();
    expect(tickAt(story, T0 + 5 * TICK)).toBeNull();
  });
});

describe("slowestAnswer", () => {
  it("returns the slowest answer with its result", () => {
    expect(slowestAnswer(story, story.extent)).toMatchObject({ latencyUs: 180_000, result: "answered", queueWaitUs: null });
    expect(slowestAnswer(story, { fromUs: T0 + 400_000, toUs: T0 + 500_000 })).toMatchObject({ result: "timed out" });
    expect(slowestAnswer(story, { fromUs: T0 + 300_000, toUs: T0 + 400_000 })).toBeNull();
  });
});

describe("latencyTitle", () => {
  it("says DNS only for queries", () => {
    expect(latencyTitle(["queries"])).toBe("DNS latency");
    expect(latencyTitle(["requests"])).toBe("Request latency");
    expect(latencyTitle(["queries", "requests"])).toBe("DNS and request latency");
  });
});

describe("summarize", () => {
  it("describes the timeline in words", () => {
    const text = summarize(story, story.extent);
    for (const part of ["peak 0.9 CPU in 100 ms", "limit 0.5 CPU", "2 ticks over the limit", "throttled 2 times, 200 ms total", "1 GC cycle, 250 ms", "4 queries, 1 answer over 20 ms, slowest 180 ms", "1 tick missing"]) {
      expect(text).toContain(part);
    }
  });
});
