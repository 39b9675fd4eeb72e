/** Models for tests of the timeline. */

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

/** Ticks of 100 ms from T0; times of answers and cycles are relative to T0. */
export function model({ cpus, throttledTicks = [], answers = [], limit = 0.5, gc = [] }: ModelInput): TimelineModel {
  const toUs = T0 + cpus.length * TICK;
  const latencyUs = Float64Array.from(answers, (answer) => answer.latencyUs);
  type Given = (typeof answers)[number];
  const perTick = (when: (answer: Given) => number, value: (in_: Given[]) => number): Float64Array =>
    Float64Array.from(cpus, (_, index) => value(answers.filter((answer) => Math.floor(when(answer) / TICK) === index)));
  return {
    extent: { fromUs: T0, toUs },
    served: ["queries"],
    cpu: {
      tUs: Float64Array.from(cpus, (_, index) => T0 + index * TICK),
      stepUs: TICK,
      tickUs: TICK,
      cpus: Float64Array.from(cpus, (value) => value ?? NaN),
      means: null,
    },
    coarse: null,
    limits: [{ fromUs: T0, cpus: limit }],
    throttled: throttledTicks.map((tick) => ({ fromUs: T0 + tick * TICK, toUs: T0 + (tick + 1) * TICK, stoppedUs: TICK, periods: 1 })),
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
    rate: {
      tUs: Float64Array.from(cpus, (_, index) => T0 + index * TICK),
      stepUs: TICK,
      queries: perTick(({ atUs }) => atUs, (came) => came.length),
      slow: perTick(({ atUs, latencyUs: took }) => atUs + took, (left) => left.filter((one) => one.latencyUs > 20_000).length),
      p50Us: perTick(({ atUs, latencyUs: took }) => atUs + took, (left) => left.map((one) => one.latencyUs).toSorted((a, b) => a - b)[Math.floor((left.length - 1) / 2)] ?? NaN),
      maxUs: perTick(({ atUs, latencyUs: took }) => atUs + took, (left) => (left.length === 0 ? NaN : Math.max(...left.map((one) => one.latencyUs)))),
    },
    connections: null,
    childLimits: [],
    errors: [],
    lanes: [],
    marks: [],
    slowThresholdUs: 20_000,
    notes: [],
  };
}
