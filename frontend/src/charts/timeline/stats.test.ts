import { model, T0, TICK } from "./fixtures";
import { gaps, medianLatencyUs, slowestAnswer, spanStats, tickAt } from "./stats";
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
    expect(stats).toMatchObject({ ticks: 5, missingTicks: 1, ticksOverLimit: 2, throttledPeriods: 2, throttledUs: 80_000 });
    expect(stats.cpuMean).toBeCloseTo((0.2 + 0.9 + 0.6 + 0.2) / 4);
    expect(stats.cpuMax).toBe(0.9);
    expect(stats).toMatchObject({ answers: 4, slow: 1, failed: 1, maxUs: 180_000, gcCycles: 1, gcUs: 250_000, complete: true });
  });

  it("takes the lower middle as the median", () => {
    expect(medianLatencyUs(story, story.extent)).toBe(300);
  });

  it("takes an answer of exactly the threshold as not slow", () => {
    expect(spanStats(story, { fromUs: T0 + 155_000, toUs: T0 + 170_000 }).slow).toBe(0);
  });

  it("cuts GC cycles to the span", () => {
    expect(spanStats(story, { fromUs: T0, toUs: T0 + 2 * TICK }).gcUs).toBe(100_000);
  });

  it("says unknown, not zero, where nothing was recorded", () => {
    const stats = spanStats(story, { fromUs: T0 + 3 * TICK, toUs: T0 + 4 * TICK });
    expect(stats.cpuMean).toBeNull();
    expect(stats.maxUs).toBeNull();
    expect(medianLatencyUs(story, stats.view)).toBeNull();
  });
});

describe("gaps", () => {
  it("finds missing ticks inside, and the edges that hold no data", () => {
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
  it("tells the slowest with its result", () => {
    expect(slowestAnswer(story, story.extent)).toMatchObject({ latencyUs: 180_000, result: "answered", queueWaitUs: null });
    expect(slowestAnswer(story, { fromUs: T0 + 400_000, toUs: T0 + 500_000 })).toMatchObject({ result: "timed out" });
    expect(slowestAnswer(story, { fromUs: T0 + 300_000, toUs: T0 + 400_000 })).toBeNull();
  });
});

describe("latencyTitle", () => {
  it("calls only queries DNS", () => {
    expect(latencyTitle(["queries"])).toBe("DNS latency");
    expect(latencyTitle(["requests"])).toBe("Request latency");
    expect(latencyTitle(["queries", "requests"])).toBe("DNS and request latency");
  });
});

describe("summarize", () => {
  it("says in words what the picture shows", () => {
    const text = summarize(story, story.extent);
    for (const part of ["peak 0.9 CPU in 100 ms", "limit 0.5 CPU", "2 ticks over the limit", "throttled 2 times, 200 ms total", "1 GC cycle, 250 ms", "4 answers, 1 over 20 ms", "1 tick missing"]) {
      expect(text).toContain(part);
    }
  });
});
