/** Decodes the API's timeline into typed arrays for charts. */

import type { Answers, ConnectionTicks, CpuTicks, DataLane, RateTicks, Stall, TimelineModel } from "@/charts/timeline/model";
import type { Schemas } from "@/api/client";
import type { Packed } from "@/api/columns";

/** The client types tuples as arrays. */
type ApiQueries = Packed<Omit<Schemas["TimelineQueries"], "complete">> & { complete: readonly (readonly number[])[] };
export type ApiPicture = Packed<Omit<Schemas["TimelinePicture"], "queries">> & { queries: ApiQueries };

const numbers = (values: readonly (number | null)[]): Float64Array => Float64Array.from(values, (value) => value ?? NaN);
const integers = (values: ArrayLike<number>): Float64Array => (values instanceof Float64Array ? values : Float64Array.from(values));

export function decodeTimeline(timeline: ApiPicture): TimelineModel {
  return {
    extent: { fromUs: timeline.from_us, toUs: timeline.to_us },
    served: timeline.served,
    cpu: decodeCpu(timeline.cpu),
    coarse: timeline.coarse === null ? null : decodeCpu(timeline.coarse),
    limits: timeline.limits.map((step) => ({ fromUs: step.from_us, cpus: step.cpu_limit })),
    throttled: timeline.throttled.map(decodeStall),
    gc: timeline.gc.map(decodeSpan),
    answers: decodeAnswers(timeline.queries),
    rate: decodeRate(timeline.rate),
    connections: timeline.connections === null ? null : decodeConnections(timeline.connections),
    childLimits: timeline.child_limits.map(({ from_us, limit }) => ({ fromUs: from_us, limit })),
    errors: timeline.errors.map(decodeSpan),
    lanes: timeline.lanes.map(decodeLane),
    marks: timeline.marks.map((mark) => ({ ...decodeSpan(mark), kind: mark.kind })),
    slowThresholdUs: timeline.slow_threshold_us,
    notes: timeline.notes,
  };
}

function decodeCpu(cpu: Packed<Schemas["TimelineCpu"]>): CpuTicks {
  return {
    tUs: integers(cpu.t_us),
    stepUs: cpu.step_us,
    tickUs: cpu.tick_us,
    cpus: numbers(cpu.cpu_ratio),
    means: cpu.cpu_mean_ratio === null ? null : numbers(cpu.cpu_mean_ratio),
  };
}

function decodeStall({ from_us: fromUs, to_us: toUs, attributes }: Schemas["TimelineSpan"]): Stall {
  return { fromUs, toUs, stoppedUs: Number(attributes["stopped_ms"] ?? (toUs - fromUs) / 1000) * 1000, periods: Number(attributes["periods"] ?? 1) };
}

function decodeSpan(span: Schemas["TimelineSpan"]): TimelineModel["gc"][number] {
  return { fromUs: span.from_us, toUs: span.to_us, label: span.label, attributes: span.attributes };
}

function decodeLane(lane: Packed<Schemas["TimelineLane"]>): DataLane {
  return {
    id: lane.id,
    title: lane.title,
    unit: lane.unit,
    tUs: integers(lane.t_us),
    stepUs: lane.step_us,
    lines: lane.lines.map(({ name, style, hot, hot_above: hotAbove, values }) => ({ name, style, hot, hotAbove, values: numbers(values) })),
    limits: lane.limits.map(({ from_us, value }) => ({ fromUs: from_us, value })),
  };
}

function decodeAnswers(queries: ApiQueries): Answers {
  const latencyUs = integers(queries.latency_us);
  return {
    tUs: integers(queries.t_us),
    latencyUs,
    // Latencies below 1 µs count as 1 µs: the log scale has no zero.
    logLatency: Float32Array.from(latencyUs, (us) => Math.log10(Math.max(1, us))),
    result: Uint8Array.from(queries.result),
    queueWaitUs: queries.queue_wait_us === null ? null : integers(queries.queue_wait_us),
    name: Uint32Array.from(queries.name),
    names: queries.names,
    complete: queries.complete.map(([fromUs = NaN, toUs = NaN]) => ({ fromUs, toUs })),
    truncated: queries.truncated,
  };
}

function decodeRate(rate: Packed<Schemas["TimelineRate"]>): RateTicks {
  return {
    tUs: integers(rate.t_us),
    stepUs: rate.step_us,
    queries: numbers(rate.queries),
    slow: numbers(rate.slow),
    p50Us: numbers(rate.latency_p50_us),
    maxUs: numbers(rate.latency_max_us),
  };
}

function decodeConnections(ticks: Packed<Schemas["TimelineConnections"]>): ConnectionTicks {
  return {
    tUs: integers(ticks.t_us),
    stepUs: ticks.step_us,
    connections: numbers(ticks.connections),
    idle: numbers(ticks.idle),
    children: numbers(ticks.children),
    backlog: numbers(ticks.backlog),
    dropped: numbers(ticks.dropped),
    upstream: numbers(ticks.upstream),
    upstreamIdle: numbers(ticks.upstream_idle),
  };
}
