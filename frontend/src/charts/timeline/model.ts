/** What the picture shows, as typed arrays. Times are µs since the epoch; a missing tick is NaN. */

import type { MeasureUnit } from "@/lib/format";
import type { TimeView } from "@/lib/timeView";

interface Span extends TimeView {
  readonly label: string;
  readonly attributes: Readonly<Record<string, string>>;
}

export interface CpuTicks {
  readonly tUs: Float64Array;
  readonly stepUs: number;
  /** Less than stepUs where each value stands for several ticks. */
  readonly tickUs: number;
  /** CPUs in use in each tick; that of the highest where a value stands for several. */
  readonly cpus: Float64Array;
  /** The mean of the ticks that a value stands for; null: it stands for one. */
  readonly means: Float64Array | null;
}

/** When a limit kept the program from running: before the kernel counts it, which it does when it ends. */
export interface Stall extends TimeView {
  /** How long it stood still: less than the span where it holds several stalls. */
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
  /** log10 of latencyUs, kept because every redraw needs it. */
  readonly logLatency: Float32Array;
  /** QueryResult of ingest.proto. */
  readonly result: Uint8Array;
  readonly queueWaitUs: Float64Array | null;
  readonly name: Uint32Array;
  readonly names: readonly string[];
  /** Spans with every answer of all servers; outside them only slow ones were kept. Sorted, apart. */
  readonly complete: readonly TimeView[];
  readonly truncated: number;
}

/** What was counted of all answers, also where single ones were not kept: queries where they came, answers where they left. */
export interface RateTicks {
  readonly tUs: Float64Array;
  readonly stepUs: number;
  readonly queries: Float64Array;
  readonly slow: Float64Array;
  readonly p50Us: Float64Array;
  readonly maxUs: Float64Array;
}

/** Gauges of the DNS servers in a tick, the highest where ticks were merged. */
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
  /** What hurts when it is much. */
  readonly hot: boolean;
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

/** What servers are asked with: DNS queries, or requests of any other protocol. */
export type Served = "queries" | "requests";

export interface TimelineModel {
  readonly extent: TimeView;
  /** Empty: the subject serves nothing. */
  readonly served: readonly Served[];
  readonly cpu: CpuTicks;
  /** The 100 ms ticks behind finer ones: what a quota is a rule about, and all there is where no detail was kept. */
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
  /** What memory, the kernel and pod start are told by, what matters most first; none for other causes. */
  readonly lanes: readonly DataLane[];
  /** Sorted by time. */
  readonly marks: readonly Mark[];
  readonly slowThresholdUs: number;
  readonly notes: readonly string[];
}

export const RESULTS = ["answered", "NXDOMAIN", "SERVFAIL", "REFUSED", "timed out", "other error"] as const;

/** NXDOMAIN is an answer; the rest after it are failures. */
export const isFailure = (result: number): boolean => result >= 2;

/** The ticks that are counted as over the limit: a quota is a rule about 100 ms, not about 10 ms. */
export const judgedTicks = (model: TimelineModel): CpuTicks => model.coarse ?? model.cpu;

/** The limit in force at a time; null: none is known or set. */
export function limitAt(limits: readonly LimitStep[], us: number): number | null {
  let found: number | null = limits[0]?.cpus ?? null;
  for (const step of limits) {
    if (step.fromUs > us) break;
    found = step.cpus;
  }
  return found;
}
