/** Expected values for a random recording, computed without the code under test. */

import fc from "fast-check";

import type { TimelineModel } from "@/charts/timeline/model";
import type { TimeView } from "@/lib/timeView";

import { decodeTimeline } from "./decode";
import { FINE, happened, T0, TICK, tickOf, timelineOf, type Happened } from "./recordings";

const RUNS = 1_000;

interface Part {
  readonly view: TimeView;
  readonly cursorUs: number;
}

/** A part of a recording, and the cursor's position in it. */
const looked: fc.Arbitrary<{ readonly was: Happened; readonly part: Part }> = happened.chain((was) => {
  const whole = was.ticks * TICK;
  return fc.tuple(fc.integer({ min: 0, max: whole - 20_000 }), fc.integer({ min: 20_000, max: whole }), fc.double({ min: 0, max: 0.999, noNaN: true })).map(([from, width, at]) => {
    const view = { fromUs: T0 + from, toUs: T0 + Math.min(whole, from + width) };
    return { was, part: { view, cursorUs: Math.floor(view.fromUs + at * (view.toUs - view.fromUs)) } };
  });
});

export function everyRecording(check: (was: Happened, part: Part, model: TimelineModel) => void): void {
  fc.assert(fc.property(looked, ({ was, part }) => check(was, part, decodeTimeline(timelineOf(was)))), { numRuns: RUNS });
}

const limitIn = (was: Happened, us: number): number | null => was.limits.findLast(({ tick }) => T0 + tick * TICK <= us)?.cpus ?? null;
export const overIn = (was: Happened, us: number, value: number): boolean => {
  const limit = limitIn(was, us);
  return limit !== null && value > limit;
};
export const fineIn = (was: Happened, us: number): number | null => was.fine[tickOf(us)]?.[Math.floor(((us - T0) % TICK) / FINE)] ?? null;
export const within = (view: TimeView, fromUs: number, toUs: number): boolean => toUs > view.fromUs && fromUs < view.toUs;
