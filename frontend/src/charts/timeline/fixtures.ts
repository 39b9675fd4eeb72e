/** Models for tests of the picture. */

import type { TimelineModel } from "./model";

export const T0 = 1_795_250_000_000_000;
export const TICK = 100_000;

export interface ModelInput {
  cpus: readonly (number | null)[];
  throttledTicks?: readonly number[];
  answers?: readonly { atUs: number; latencyUs: number; result?: number }[];
  limit?: number | null;
  gc?: readonly (readonly [number, number])[];
}

/** Ticks of 100 ms from T0 on; times of answers and cycles are relative to T0. */
export function model({ cpus, throttledTicks = [], answers = [], limit = 0.5, gc = [] }: ModelInput): TimelineModel {
  const toUs = T0 + cpus.length * TICK;
  const latencyUs = Float64Array.from(answers, (answer) => answer.latencyUs);
  return {
    extent: { fromUs: T0, toUs },
    served: ["queries"],
    cpu: {
      tUs: Float64Array.from(cpus, (_, index) => T0 + index * TICK),
      stepUs: TICK,
      cpus: Float64Array.from(cpus, (value) => value ?? NaN),
      throttledUs: Float64Array.from(cpus, (_, index) => (throttledTicks.includes(index) ? 40_000 : 0)),
      throttledPeriods: Float64Array.from(cpus, (_, index) => (throttledTicks.includes(index) ? 1 : 0)),
    },
    coarse: null,
    limits: [{ fromUs: T0, cpus: limit }],
    throttled: throttledTicks.map((tick) => ({ fromUs: T0 + tick * TICK, toUs: T0 + (tick + 1) * TICK, label: "throttled", attributes: {} })),
    gc: gc.map(([from, to]) => ({ fromUs: T0 + from, toUs: T0 + to, label: "GC", attributes: {} })),
    answers: {
      tUs: Float64Array.from(answers, (answer) => T0 + answer.atUs),
      latencyUs,
      logLatency: Float32Array.from(latencyUs, (us) => Math.log10(us)),
      result: Uint8Array.from(answers, (answer) => answer.result ?? 0),
      queueWaitUs: null,
      name: Uint32Array.from(answers, () => 0),
      names: ["example. A"],
      complete: [{ fromUs: T0, toUs }],
      truncated: 0,
    },
    rate: { tUs: new Float64Array(), stepUs: TICK, queries: new Float64Array(), slow: new Float64Array(), p50Us: new Float64Array(), maxUs: new Float64Array() },
    connections: null,
    childLimits: [],
    errors: [],
    lanes: [],
    marks: [],
    slowThresholdUs: 20_000,
    notes: [],
  };
}
