/** The bars of the CPU lane, and the ranges without a recording. Pure. */

import { lowerBound } from "@/lib/binary";
import type { TimeView } from "@/lib/timeView";

import { judgedTicks, limitAt, type CpuTicks, type TimelineModel } from "./model";

export interface CpuTick extends TimeView {
  readonly cpus: number;
  /** Whether the bar is over the limit in force at that time. */
  readonly over: boolean;
}

/** "outline": finer bars are drawn on top. */
export type BarStyle = "solid" | "outline";

/** All bars of a view: the finest known tick for each time, and the outline of the 100 ms around 10 ms ticks. */
export function eachBar(model: TimelineModel, view: TimeView, visit: (fromUs: number, stepUs: number, cpus: number, over: boolean, style: BarStyle) => void): void {
  const { cpu, coarse, limits } = model;
  const draw = (ticks: CpuTicks, style: (us: number) => BarStyle): void => {
    const [first, last] = reaching(ticks, view);
    for (let i = first; i < last; i += 1) {
      const value = ticks.cpus[i] as number;
      const at = ticks.tUs[i] as number;
      if (!Number.isNaN(value)) visit(at, ticks.stepUs, value, isOver(limits, at, value), style(at));
    }
  };
  if (coarse !== null) draw(coarse, (us) => (knownWithin(cpu, us, us + coarse.stepUs) ? "outline" : "solid"));
  draw(cpu, () => "solid");
}

/** The finest known tick at a time; null: none. */
export function cpuAt(model: TimelineModel, us: number): CpuTick | null {
  for (const ticks of [model.cpu, model.coarse]) {
    if (ticks === null) continue;
    const at = lowerBound(ticks.tUs, us + 1) - 1;
    const fromUs = ticks.tUs[at];
    const value = ticks.cpus[at];
    if (fromUs === undefined || value === undefined || Number.isNaN(value) || us >= fromUs + ticks.stepUs) continue;
    return { fromUs, toUs: fromUs + ticks.stepUs, cpus: value, over: isOver(model.limits, fromUs, value) };
  }
  return null;
}

/** The hatched ranges: times without a tick, and missing 10 ms ticks among others. */
export function gaps(model: TimelineModel): TimeView[] {
  const missing = missingOf(judgedTicks(model), model.extent);
  if (model.coarse === null) return missing;
  const { cpu, coarse } = model;
  const found = missing.flatMap((gap) => missingOf(cpu, gap));
  for (const gap of missingOf(cpu, model.extent)) {
    const first = Math.max(0, lowerBound(coarse.tUs, gap.fromUs + 1) - 1);
    for (let i = first; i < coarse.tUs.length && (coarse.tUs[i] as number) < gap.toUs; i += 1) {
      const fromUs = coarse.tUs[i] as number;
      const part = { fromUs: Math.max(gap.fromUs, fromUs), toUs: Math.min(gap.toUs, fromUs + coarse.stepUs) };
      if (part.fromUs < part.toUs && !Number.isNaN(coarse.cpus[i]) && knownWithin(cpu, fromUs, fromUs + coarse.stepUs)) found.push(part);
    }
  }
  return joined(found);
}

const isOver = (limits: TimelineModel["limits"], us: number, value: number): boolean => {
  const limit = limitAt(limits, us);
  return limit !== null && value > limit;
};

/** [first, last) of the ticks that overlap a view. */
function reaching(ticks: CpuTicks, view: TimeView): readonly [number, number] {
  return [lowerBound(ticks.tUs, view.fromUs - ticks.stepUs + 1), lowerBound(ticks.tUs, view.toUs)];
}

function knownWithin(ticks: CpuTicks, fromUs: number, toUs: number): boolean {
  const last = lowerBound(ticks.tUs, toUs);
  for (let i = lowerBound(ticks.tUs, fromUs); i < last; i += 1) if (!Number.isNaN(ticks.cpus[i])) return true;
  return false;
}

/** The parts of a view without a tick. */
function missingOf({ tUs, stepUs, cpus }: CpuTicks, view: TimeView): TimeView[] {
  const found: TimeView[] = [];
  let expected = view.fromUs;
  for (let i = lowerBound(tUs, view.fromUs - stepUs + 1); i < tUs.length && (tUs[i] as number) < view.toUs; i += 1) {
    if (Number.isNaN(cpus[i])) continue;
    const at = tUs[i] as number;
    if (at > expected) found.push({ fromUs: expected, toUs: at });
    expected = at + stepUs;
  }
  if (view.toUs > expected) found.push({ fromUs: expected, toUs: view.toUs });
  return found;
}

function joined(spans: readonly TimeView[]): TimeView[] {
  const found: TimeView[] = [];
  for (const span of spans.toSorted((a, b) => a.fromUs - b.fromUs)) {
    const before = found.at(-1);
    if (before !== undefined && span.fromUs <= before.toUs) found[found.length - 1] = { fromUs: before.fromUs, toUs: Math.max(before.toUs, span.toUs) };
    else found.push(span);
  }
  return found;
}
