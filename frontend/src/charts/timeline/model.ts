/** The timeline's data as typed arrays. Times are µs since the epoch; a missing tick is NaN. */

import type { MeasureUnit } from "@/lib/format";
import type { TimeView } from "@/lib/timeView";

interface Span extends TimeView {
  readonly label: string;
  readonly attributes: Readonly<Record<string, string>>;
}

export interface CpuTicks {
  readonly tUs: Float64Array;
  readonly stepUs: number;
  /** Less than stepUs if each value covers several ticks. */
  readonly tickUs: number;
  /** CPUs in use in each tick; the highest tick if a value covers several. */
  readonly cpus: Float64Array;
  /** The mean of the ticks covered by a value; null: it covers one. */
  readonly means: Float64Array | null;
}

/** When a limit stopped the program: earlier than the kernel counts it, which is at the end. */
export interface Stall extends TimeView {
  /** Total stall time: less than the span if it contains several stalls. */
  readonly stoppedUs: number;
  readonly periods: number;
}

export interface LimitStep {
  readonly fromUs: number;
  /** null: no limit */
  readonly cpus: number | null;
}

/** Single answers, sorted by time; parallel arrays. */
export interface Answers {
  readonly tUs: Float64Array;
  readonly latencyUs: Float64Array;
  /** log10 of latencyUs, cached because every redraw needs it. */
  readonly logLatency: Float32Array;
  /** QueryResult of ingest.proto. */
  readonly result: Uint8Array;
  readonly queueWaitUs: Float64Array | null;
  readonly name: Uint32Array;
  readonly names: readonly string[];
  /** Spans with every answer of all servers; outside them, only slow ones were kept. Sorted, not overlapping. */
  readonly complete: readonly TimeView[];
  readonly truncated: number;
}

/** Counts of all answers, even where single ones were not kept: queries when they arrived, answers when they left. */
export interface RateTicks {
  readonly tUs: Float64Array;
  readonly stepUs: number;
  readonly queries: Float64Array;
  readonly slow: Float64Array;
  readonly p50Us: Float64Array;
  readonly maxUs: Float64Array;
}

/** Gauges of the DNS servers in a tick; the highest if ticks were merged. */
export interface ConnectionTicks {
  readonly tUs: Float64Array;
  readonly stepUs: number;
  readonly connections: Float64Array;
  readonly idle: Float64Array;
  readonly children: Float64Array;
  readonly backlog: Float64Array;
  /** A sum, not a gauge. */
  readonly dropped: Float64Array;
  readonly upstream: Float64Array;
  readonly upstreamIdle: Float64Array;
}

export interface ChildLimit {
  readonly fromUs: number;
  readonly limit: number;
}

export interface DataLine {
  readonly name: string;
  readonly style: "area" | "line" | "bars";
  /** Harmful above `hotAbove`, which is in the lane's unit. */
  readonly hot: boolean;
  readonly hotAbove: number;
  readonly values: Float64Array;
}

interface LaneLimit {
  readonly fromUs: number;
  /** In the lane's unit; null: no limit. */
  readonly value: number | null;
}

/** Lines of one unit. */
export interface DataLane {
  readonly id: string;
  readonly title: string;
  readonly unit: MeasureUnit;
  readonly tUs: Float64Array;
  readonly stepUs: number;
  readonly lines: readonly DataLine[];
  readonly limits: readonly LaneLimit[];
}

/** Something that happened; `kind` is the event's. */
interface Mark extends Span {
  readonly kind: string;
}

/** What the servers serve: DNS queries, or requests of any other protocol. */
export type Served = "queries" | "requests";

export interface TimelineModel {
  readonly extent: TimeView;
  /** Empty: the subject serves nothing. */
  readonly served: readonly Served[];
  readonly cpu: CpuTicks;
  /** The 100 ms ticks behind finer ones: the scale of a quota, and the only data where no detail was kept. */
  readonly coarse: CpuTicks | null;
  readonly limits: readonly LimitStep[];
  readonly throttled: readonly Stall[];
  readonly gc: readonly Span[];
  readonly answers: Answers;
  readonly rate: RateTicks;
  /** null: not measured here. */
  readonly connections: ConnectionTicks | null;
  readonly childLimits: readonly ChildLimit[];
  /** Error lines of the servers. */
  readonly errors: readonly Span[];
  /** Lanes of memory, kernel, and pod start causes, most important first; none for other causes. */
  readonly lanes: readonly DataLane[];
  /** Sorted by time. */
  readonly marks: readonly Mark[];
  readonly slowThresholdUs: number;
  readonly notes: readonly string[];
}

export const RESULTS = ["answered", "NXDOMAIN", "SERVFAIL", "REFUSED", "timed out", "other error"] as const;

/** NXDOMAIN is an answer; all results after it are failures. */
export const isFailure = (result: number): boolean => result >= 2;

/** The ticks that can count as over the limit: a quota applies to 100 ms, not to 10 ms. */
export const judgedTicks = (model: TimelineModel): CpuTicks => model.coarse ?? model.cpu;

/** The limit in force at a time; null: none known or set. */
export function limitAt(limits: readonly LimitStep[], us: number): number | null {
  let found: number | null = limits[0]?.cpus ?? null;
  for (const step of limits) {
    if (step.fromUs > us) break;
    found = step.cpus;
  }
  return found;
}
