import { decodeTimeline } from "./decode";

const timeline: Parameters<typeof decodeTimeline>[0] = {
  from_us: 1000,
  to_us: 3000,
  served: ["requests"],
  cpu: { t_us: [1000, 2000], step_us: 1000, tick_us: 1000, cpu_ratio: [0.5, null], cpu_mean_ratio: null, throttled_us: [0, null], throttled_periods: [1, null] },
  coarse: null,
  limits: [{ from_us: 0, cpu_limit: null }],
  throttled: [{ from_us: 1000, to_us: 2000, label: "throttled", attributes: { stopped_ms: "0.4", throttled_ms: "0.8", periods: "2" } }],
  gc: [],
  queries: { t_us: [1500], latency_us: [0], result: [4], queue_wait_us: null, name: [0], names: ["a. A"], complete: [[1000, 3000]], truncated: 3 },
  rate: { t_us: [1000], step_us: 1000, queries: [2], slow: [null], latency_p50_us: [10], latency_max_us: [null] },
  connections: {
    t_us: [1000],
    step_us: 1000,
    connections: [44],
    idle: [null],
    children: [20],
    backlog: [24],
    dropped: [0],
    upstream: [null],
    upstream_idle: [null],
  },
  child_limits: [{ from_us: 1000, limit: 20 }],
  lanes: [
    {
      id: "memory",
      title: "Memory",
      unit: "bytes",
      t_us: [1000, 2000],
      step_us: 1000,
      lines: [{ name: "in use", style: "area", hot: false, hot_above: 0, values: [null, 5] }],
      limits: [{ from_us: 1000, value: null }],
    },
  ],
  marks: [{ from_us: 1500, to_us: 1500, label: "coredns: killed", kind: "memory.oom_kill", attributes: {} }],
  errors: [{ from_us: 1500, to_us: 1500, label: "io_timeout", attributes: { count: "3" } }],
  slow_threshold_us: 20_000,
  notes: ["no tracepoints"],
};

describe("decodeTimeline", () => {
  it("keeps a missing tick missing, never zero", () => {
    const model = decodeTimeline(timeline);
    expect([...model.cpu.cpus]).toEqual([0.5, NaN]);
    expect([...model.rate.slow]).toEqual([NaN]);
  });

  it("takes the duration of a stall, not the time summed over all CPUs", () => {
    expect(decodeTimeline(timeline).throttled).toEqual([{ fromUs: 1000, toUs: 2000, stoppedUs: 400, periods: 2 }]);
  });

  it("keeps the kind of requests that the servers serve", () => {
    expect(decodeTimeline(timeline).served).toEqual(["requests"]);
  });

  it("has no zeros for the log scale", () => {
    expect(decodeTimeline(timeline).answers.logLatency[0]).toBe(0);
  });

  it("distinguishes connections not measured from none", () => {
    const { connections, childLimits, errors } = decodeTimeline(timeline);
    expect(connections).toMatchObject({ stepUs: 1000, children: Float64Array.of(20), idle: Float64Array.of(NaN) });
    expect(childLimits).toEqual([{ fromUs: 1000, limit: 20 }]);
    expect(errors).toEqual([{ fromUs: 1500, toUs: 1500, label: "io_timeout", attributes: { count: "3" } }]);
    expect(decodeTimeline({ ...timeline, connections: null }).connections).toBeNull();
  });

  it("keeps unknown values unknown", () => {
    const { answers, limits, notes } = decodeTimeline(timeline);
    expect(answers).toMatchObject({ truncated: 3, queueWaitUs: null, complete: [{ fromUs: 1000, toUs: 3000 }] });
    expect(limits).toEqual([{ fromUs: 0, cpus: null }]);
    expect(notes).toEqual(["no tracepoints"]);
  });
});
