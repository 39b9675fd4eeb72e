/** The API's timeline as the typed arrays that charts draw. */

import type { Answers, RateTicks, TimelineModel } from "@/charts/timeline/model";
import type { Schemas } from "@/api/client";

/** The client reads tuples as arrays. */
type ApiQueries = Omit<Schemas["TimelineQueries"], "complete"> & { complete: readonly (readonly number[])[] };
type ApiTimeline = Omit<Schemas["Timeline"], "queries"> & { queries: ApiQueries };

const numbers = (values: readonly (number | null)[]): Float64Array => Float64Array.from(values, (value) => value ?? NaN);

export function decodeTimeline(timeline: ApiTimeline): TimelineModel {
  return {
    extent: { fromUs: timeline.from_us, toUs: timeline.to_us },
    cpu: {
      tUs: Float64Array.from(timeline.cpu.t_us),
      stepUs: timeline.cpu.step_us,
      cpus: numbers(timeline.cpu.cpu_ratio),
      throttledUs: numbers(timeline.cpu.throttled_us),
      throttledPeriods: numbers(timeline.cpu.throttled_periods),
    },
    coarse: null,
    limits: timeline.limits.map((step) => ({ fromUs: step.from_us, cpus: step.cpu_limit })),
    throttled: timeline.throttled.map(decodeSpan),
    gc: timeline.gc.map(decodeSpan),
    answers: decodeAnswers(timeline.queries),
    rate: decodeRate(timeline.rate),
    slowThresholdUs: timeline.slow_threshold_us,
    notes: timeline.notes,
  };
}

function decodeSpan(span: Schemas["TimelineSpan"]): TimelineModel["gc"][number] {
  return { fromUs: span.from_us, toUs: span.to_us, label: span.label, attributes: span.attributes };
}

function decodeAnswers(queries: ApiQueries): Answers {
  const latencyUs = Float64Array.from(queries.latency_us);
  return {
    tUs: Float64Array.from(queries.t_us),
    latencyUs,
    // An answer within a microsecond counts as one: the log scale has no zero.
    logLatency: Float32Array.from(latencyUs, (us) => Math.log10(Math.max(1, us))),
    result: Uint8Array.from(queries.result),
    queueWaitUs: queries.queue_wait_us === null ? null : Float64Array.from(queries.queue_wait_us),
    name: Uint32Array.from(queries.name),
    names: queries.names,
    complete: queries.complete.map(([fromUs = NaN, toUs = NaN]) => ({ fromUs, toUs })),
    truncated: queries.truncated,
  };
}

function decodeRate(rate: Schemas["TimelineRate"]): RateTicks {
  return {
    tUs: Float64Array.from(rate.t_us),
    stepUs: rate.step_us,
    queries: numbers(rate.queries),
    slow: numbers(rate.slow),
    p50Us: numbers(rate.latency_p50_us),
    maxUs: numbers(rate.latency_max_us),
  };
}
