import { decodeTimeline } from "./decode";

const timeline: Parameters<typeof decodeTimeline>[0] = {
  from_us: 1000,
  to_us: 3000,
  subject: { resource_id: 1, kind: "cgroup", key: "/a", name: "a", node: "n" },
  cpu: { t_us: [1000, 2000], step_us: 1000, cpu_ratio: [0.5, null], throttled_us: [0, null], throttled_periods: [1, null] },
  limits: [{ from_us: 0, cpu_limit: null }],
  throttled: [{ from_us: 1000, to_us: 2000, label: "throttled", attributes: {} }],
  gc: [],
  queries: { t_us: [1500], latency_us: [0], result: [4], queue_wait_us: null, name: [0], names: ["a. A"], complete: [[1000, 3000]], truncated: 3 },
  rate: { t_us: [1000], step_us: 1000, queries: [2], slow: [null], latency_p50_us: [10], latency_max_us: [null] },
  slow_threshold_us: 20_000,
  notes: ["no tracepoints"],
};

describe("decodeTimeline", () => {
  it("keeps a missing tick missing: never zero", () => {
    const model = decodeTimeline(timeline);
    expect([...model.cpu.cpus]).toEqual([0.5, NaN]);
    expect([...model.rate.slow]).toEqual([NaN]);
  });

  it("gives the log scale no zero to stumble over", () => {
    expect(decodeTimeline(timeline).answers.logLatency[0]).toBe(0);
  });

  it("carries what is not known", () => {
    const { answers, limits, notes } = decodeTimeline(timeline);
    expect(answers).toMatchObject({ truncated: 3, queueWaitUs: null, complete: [{ fromUs: 1000, toUs: 3000 }] });
    expect(limits).toEqual([{ fromUs: 0, cpus: null }]);
    expect(notes).toEqual(["no tracepoints"]);
  });
});
