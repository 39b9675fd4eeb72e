/** The data shown for the tick under the cursor. Pure. */

import type { TimeView } from "@/lib/timeView";

import { cpuAt, type CpuTick } from "./bars";
import { countsOf, isComplete, type Counts } from "./counts";
import { limitAt, type Stall, type TimelineModel } from "./model";
import { overlapping, slowestAnswer, tickAt, type NearAnswer } from "./stats";

export interface TickReadout {
  readonly tick: TimeView;
  /** The bar under the cursor: 100 ms if no detail was kept. null: not recorded. */
  readonly cpu: CpuTick | null;
  readonly limit: number | null;
  /** Stalls that overlap the tick. */
  readonly stalls: readonly Stall[];
  readonly cycles: TimelineModel["gc"];
  /** null: the subject serves nothing. */
  readonly answers: {
    /** null: not counted here. */
    readonly counts: Counts | null;
    /** Whether every answer of the tick is a dot. */
    readonly complete: boolean;
    /** The slowest dot of the tick. */
    readonly slowest: NearAnswer | null;
  } | null;
}

export function readoutOf(model: TimelineModel, us: number): TickReadout {
  const tick = tickAt(model, us) ?? { fromUs: us, toUs: us + model.cpu.stepUs };
  return {
    tick,
    cpu: cpuAt(model, us),
    limit: limitAt(model.limits, tick.fromUs),
    stalls: overlapping(model.throttled, tick),
    cycles: overlapping(model.gc, tick),
    answers:
      model.served.length === 0
        ? null
        : { counts: countsOf(model, tick), complete: isComplete(model.answers, tick), slowest: slowestAnswer(model, tick) },
  };
}
