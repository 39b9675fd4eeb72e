/** Numbers of a span of the picture: for the selection, the text summary and the readout of a tick. Pure. */

import { lowerBound } from "@/lib/binary";
import { span, type TimeView } from "@/lib/timeView";

import { isFailure, judgedTicks, limitAt, RESULTS, type Span, type TimelineModel } from "./model";

export interface SpanStats {
  readonly view: TimeView;
  readonly ticks: number;
  readonly missingTicks: number;
  readonly cpuMean: number | null;
  readonly cpuMax: number | null;
  readonly ticksOverLimit: number;
  readonly throttledUs: number;
  readonly throttledPeriods: number;
  readonly gcCycles: number;
  readonly gcUs: number;
  readonly answers: number;
  readonly slow: number;
  readonly failed: number;
  readonly maxUs: number | null;
  /** True when every answer of the span was kept, so that counts of answers are exact. */
  readonly complete: boolean;
}

/** [first, last) index of the entries with view.fromUs <= t < view.toUs. */
export function indexRange(tUs: Float64Array, view: TimeView): readonly [number, number] {
  return [lowerBound(tUs, view.fromUs), lowerBound(tUs, view.toUs)];
}

export function overlapping(spans: readonly Span[], view: TimeView): Span[] {
  return spans.filter((one) => one.toUs > view.fromUs && one.fromUs < view.toUs);
}

const overlapUs = (one: TimeView, view: TimeView): number => Math.max(0, Math.min(one.toUs, view.toUs) - Math.max(one.fromUs, view.fromUs));

export function spanStats(model: TimelineModel, view: TimeView): SpanStats {
  const { answers } = model;
  const cpu = span(view) < judgedTicks(model).stepUs ? model.cpu : judgedTicks(model);
  const [first, last] = indexRange(cpu.tUs, view);
  let sum = 0;
  let known = 0;
  let cpuMax: number | null = null;
  let ticksOverLimit = 0;
  let throttledPeriods = 0;
  let throttledUs = 0;
  for (let i = first; i < last; i += 1) {
    const value = cpu.cpus[i] as number;
    const periods = cpu.throttledPeriods[i] as number;
    const creditedUs = cpu.throttledUs[i] as number;
    if (!Number.isNaN(periods)) throttledPeriods += periods;
    if (!Number.isNaN(creditedUs)) throttledUs += creditedUs;
    if (Number.isNaN(value)) continue;
    known += 1;
    sum += value;
    if (cpuMax === null || value > cpuMax) cpuMax = value;
    const limit = limitAt(model.limits, cpu.tUs[i] as number);
    if (limit !== null && value > limit) ticksOverLimit += 1;
  }

  const [from, to] = indexRange(answers.tUs, view);
  let slow = 0;
  let failed = 0;
  let maxUs: number | null = null;
  for (let i = from; i < to; i += 1) {
    const latencyUs = answers.latencyUs[i] as number;
    if (latencyUs > model.slowThresholdUs) slow += 1;
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
    ticksOverLimit,
    throttledUs,
    throttledPeriods,
    gcCycles: cycles.length,
    gcUs: cycles.reduce((total, cycle) => total + overlapUs(cycle, view), 0),
    answers: to - from,
    slow,
    failed,
    maxUs,
    complete: answers.truncated === 0 && answers.complete.some((one) => one.fromUs <= view.fromUs && one.toUs >= view.toUs),
  };
}

/** Median latency of the answers kept in a span: sorts them, so not for wide spans while the hand moves. */
export function medianLatencyUs(model: TimelineModel, view: TimeView): number | null {
  const [from, to] = indexRange(model.answers.tUs, view);
  const latencies = model.answers.latencyUs.slice(from, to).sort();
  return latencies[Math.floor((latencies.length - 1) / 2)] ?? null;
}

/** The tick that contains `us`; null where the picture has none. */
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

/** The slowest answer sent in the span, with its story. */
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

/** Runs of missing ticks, and everything before the first and after the last tick inside the extent. */
export function gaps(model: TimelineModel): TimeView[] {
  const { tUs, stepUs, cpus } = judgedTicks(model);
  const found: TimeView[] = [];
  let expected = model.extent.fromUs;
  const close = (fromUs: number, toUs: number): void => {
    const before = found.at(-1);
    if (before !== undefined && fromUs - before.toUs < stepUs / 2) found[found.length - 1] = { fromUs: before.fromUs, toUs };
    else found.push({ fromUs, toUs });
  };
  for (let i = 0; i < tUs.length; i += 1) {
    const at = tUs[i] as number;
    if (at - expected >= stepUs) close(expected, at);
    if (Number.isNaN(cpus[i])) close(at, at + stepUs);
    expected = at + stepUs;
  }
  if (model.extent.toUs - expected >= stepUs) close(expected, model.extent.toUs);
  return found;
}

/** The server says -1 where it does not know. */
const known = (value: number | undefined): number | null => (value === undefined || value < 0 ? null : value);
