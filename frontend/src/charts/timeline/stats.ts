/** Figures of a span of the timeline: for the selection, the text summary, and the readout of a tick. Pure. */

import { lowerBound } from "@/lib/binary";
import { span, type TimeView } from "@/lib/timeView";

import { countsOf } from "./counts";
import { isFailure, judgedTicks, limitAt, RESULTS, type TimelineModel } from "./model";

export interface SpanStats {
  readonly view: TimeView;
  readonly ticks: number;
  readonly missingTicks: number;
  readonly cpuMean: number | null;
  readonly cpuMax: number | null;
  /** Length of the tick with the highest usage. */
  readonly cpuTickUs: number;
  /** Ticks, or points of several ticks, with usage over the limit. */
  readonly overLimit: number;
  /** Throttled time, and the periods that ended throttled. */
  readonly throttledUs: number;
  readonly throttledPeriods: number;
  readonly gcCycles: number;
  readonly gcUs: number;
  /** Count of all queries; null: not counted. */
  readonly queries: number | null;
  /** Count of slow answers; null: not counted. */
  readonly slow: number | null;
  readonly maxUs: number | null;
  /** Single answers drawn, and how many of them failed. */
  readonly dots: number;
  readonly failed: number;
}

/** [first, last) index of the entries with view.fromUs <= t < view.toUs. */
export function indexRange(tUs: Float64Array, view: TimeView): readonly [number, number] {
  return [lowerBound(tUs, view.fromUs), lowerBound(tUs, view.toUs)];
}

export function overlapping<T extends TimeView>(spans: readonly T[], view: TimeView): T[] {
  return spans.filter((one) => one.toUs > view.fromUs && one.fromUs < view.toUs);
}

const overlapUs = (one: TimeView, view: TimeView): number => Math.max(0, Math.min(one.toUs, view.toUs) - Math.max(one.fromUs, view.fromUs));

/** Throttled time within a span; the proportional share of a run of stalls. */
function stoppedUs({ throttled }: TimelineModel, view: TimeView): number {
  return overlapping(throttled, view).reduce((sum, stall) => sum + (stall.stoppedUs * overlapUs(stall, view)) / span(stall), 0);
}

export function spanStats(model: TimelineModel, view: TimeView): SpanStats {
  const { answers } = model;
  const cpu = span(view) < judgedTicks(model).stepUs ? model.cpu : judgedTicks(model);
  const [first, last] = indexRange(cpu.tUs, view);
  let sum = 0;
  let known = 0;
  let cpuMax: number | null = null;
  let overLimit = 0;
  for (let i = first; i < last; i += 1) {
    const value = cpu.cpus[i] as number;
    if (Number.isNaN(value)) continue;
    known += 1;
    sum += (cpu.means ?? cpu.cpus)[i] as number;
    if (cpuMax === null || value > cpuMax) cpuMax = value;
    const limit = limitAt(model.limits, cpu.tUs[i] as number);
    if (limit !== null && value > limit) overLimit += 1;
  }

  const [from, to] = indexRange(answers.tUs, view);
  const counts = countsOf(model, view);
  let failed = 0;
  let maxUs = counts?.maxUs ?? null;
  for (let i = from; i < to; i += 1) {
    const latencyUs = answers.latencyUs[i] as number;
    if (maxUs === null || latencyUs > maxUs) maxUs = latencyUs;
    if (isFailure(answers.result[i] as number)) failed += 1;
  }
  const cycles = overlapping(model.gc, view);
  return {
    view,
    ticks: last - first,
    missingTicks: last - first - known,
    cpuMean: known > 0 ? sum / known : null,
    cpuMax,
    cpuTickUs: cpu.tickUs,
    overLimit,
    throttledUs: stoppedUs(model, view),
    throttledPeriods: overlapping(model.throttled, view).reduce((total, stall) => total + stall.periods, 0),
    gcCycles: cycles.length,
    gcUs: cycles.reduce((total, cycle) => total + overlapUs(cycle, view), 0),
    queries: counts?.queries ?? null,
    slow: counts?.slow ?? null,
    maxUs,
    dots: to - from,
    failed,
  };
}

/** The tick that contains `us`; null if there is none. */
export function tickAt(model: TimelineModel, us: number): TimeView | null {
  const { tUs, stepUs } = model.cpu;
  if (tUs.length === 0) return null;
  const first = tUs[0] as number;
  const fromUs = first + Math.floor((us - first) / stepUs) * stepUs;
  return us < first || us >= (tUs[tUs.length - 1] as number) + stepUs ? null : { fromUs, toUs: fromUs + stepUs };
}

export interface NearAnswer {
  readonly tUs: number;
  readonly latencyUs: number;
  readonly queueWaitUs: number | null;
  readonly result: string;
  readonly name: string;
}

/** The slowest answer sent in the span, with its details. */
export function slowestAnswer(model: TimelineModel, view: TimeView): NearAnswer | null {
  const { answers } = model;
  const [from, to] = indexRange(answers.tUs, view);
  let best = -1;
  for (let i = from; i < to; i += 1) {
    if (best < 0 || (answers.latencyUs[i] as number) > (answers.latencyUs[best] as number)) best = i;
  }
  if (best < 0) return null;
  return {
    tUs: answers.tUs[best] as number,
    latencyUs: answers.latencyUs[best] as number,
    queueWaitUs: known(answers.queueWaitUs?.[best]),
    result: RESULTS[answers.result[best] as number] ?? "unknown",
    name: answers.names[answers.name[best] as number] ?? "",
  };
}

/** The server sends -1 for unknown values. */
const known = (value: number | undefined): number | null => (value === undefined || value < 0 ? null : value);
