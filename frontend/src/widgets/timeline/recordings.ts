/** Random recordings for tests: the true events, and the API's timeline of them. */

import fc from "fast-check";

import { SLOW_US } from "@/api/catalogue.gen";
import type { Schemas } from "@/api/client";

import type { decodeTimeline } from "./decode";

export const T0 = 1_795_250_000_000_000;
export const TICK = 100_000;
export const FINE = 10_000;

export interface HappenedAnswer {
  readonly us: number;
  readonly latencyUs: number;
  readonly result: number;
}

/** The true events: everything that a timeline can be checked against. */
export interface Happened {
  readonly ticks: number;
  /** CPUs in each 100 ms; null: missing. */
  readonly cpus: readonly (number | null)[];
  /** CPUs in each 10 ms of a tick; null: no detail was kept. Empty: none was requested. */
  readonly fine: readonly (readonly (number | null)[] | null)[];
  readonly limits: readonly { readonly tick: number; readonly cpus: number | null }[];
  readonly stalls: readonly { readonly fromUs: number; readonly toUs: number; readonly periods: number }[];
  readonly serves: boolean;
  readonly answers: readonly HappenedAnswer[];
  /** For each tick: whether all its answers were kept. */
  readonly kept: readonly boolean[];
  /** For each tick: whether its answers were counted. */
  readonly counted: readonly boolean[];
  /** Dots left out to keep the response small: every n-th fast one; 0: none. */
  readonly dropEvery: number;
}

const used = fc.option(fc.oneof(fc.constant(0), fc.double({ min: 0.001, max: 4, noNaN: true })), { freq: 6 });
const latency = fc.double({ min: 0, max: 6, noNaN: true }).map((log) => Math.round(10 ** log));

export const happened: fc.Arbitrary<Happened> = fc.integer({ min: 2, max: 24 }).chain((ticks) => {
  const each = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(value, { minLength: ticks, maxLength: ticks });
  const whole = ticks * TICK;
  return fc.record({
    ticks: fc.constant(ticks),
    cpus: each(used),
    fine: fc.oneof(fc.constant([]), each(fc.option(fc.array(used, { minLength: 10, maxLength: 10 }), { freq: 2 }))),
    limits: fc
      .uniqueArray(fc.record({ tick: fc.integer({ min: 1, max: ticks }), cpus: fc.option(fc.double({ min: 0.1, max: 3, noNaN: true }), { freq: 4 }) }), { selector: ({ tick }) => tick, maxLength: 2 })
      .chain((later) => fc.option(fc.double({ min: 0.1, max: 3, noNaN: true }), { freq: 6 }).map((cpus) => [{ tick: 0, cpus }, ...later.toSorted((a, b) => a.tick - b.tick)])),
    stalls: fc.uniqueArray(fc.integer({ min: 0, max: whole }), { maxLength: 8 }).chain((edges) =>
      fc.integer({ min: 1, max: 5 }).map((periods) => {
        const sorted = edges.toSorted((a, b) => a - b);
        return Array.from({ length: Math.floor(sorted.length / 2) }, (_, i) => ({ fromUs: T0 + (sorted[2 * i] as number), toUs: T0 + (sorted[2 * i + 1] as number), periods }));
      }),
    ),
    serves: fc.boolean().map((no) => !no),
    answers: fc
      .array(fc.record({ us: fc.integer({ min: 0, max: whole - 1 }), latencyUs: latency, result: fc.constantFrom(0, 0, 0, 0, 1, 2, 4, 5) }), { maxLength: 60 })
      .map((list) => list.map((one) => ({ ...one, us: T0 + one.us })).toSorted((a, b) => a.us - b.us)),
    kept: each(fc.boolean()),
    counted: each(fc.integer({ min: 0, max: 7 }).map((n) => n > 0)),
    dropEvery: fc.constantFrom(0, 0, 0, 2),
  });
});

export const tickOf = (us: number): number => Math.floor((us - T0) / TICK);
export const isLate = ({ latencyUs }: HappenedAnswer): boolean => latencyUs > SLOW_US;

/** The answers contained in a response as dots, and how many are left out. */
export function dotsOf({ serves, answers, kept, dropEvery }: Happened): { readonly dots: readonly HappenedAnswer[]; readonly truncated: number } {
  const stored = serves ? answers.filter((one) => kept[tickOf(one.us)] === true || isLate(one)) : [];
  const dots = dropEvery === 0 ? stored : stored.filter((one, i) => isLate(one) || i % dropEvery !== 0);
  return { dots, truncated: stored.length - dots.length };
}

/** Counts of each tick; null: not counted. Queries count when they arrive, everything else when the answer leaves. */
export function countsIn({ ticks, serves, answers, counted }: Happened): readonly ({ readonly queries: number; readonly slow: number; readonly p50Us: number | null; readonly maxUs: number | null } | null)[] {
  return Array.from({ length: ticks }, (_, tick) => {
    if (!serves || counted[tick] !== true) return null;
    const left = answers.filter((one) => tickOf(one.us + one.latencyUs) === tick).map(({ latencyUs }) => latencyUs).toSorted((a, b) => a - b);
    return {
      queries: answers.filter((one) => tickOf(one.us) === tick).length,
      slow: left.filter((us) => us > SLOW_US).length,
      p50Us: left[Math.floor((left.length - 1) / 2)] ?? null,
      maxUs: left.at(-1) ?? null,
    };
  });
}

/** Spans in which all answers were kept. */
export function completeIn({ kept, serves }: Happened): [number, number][] {
  const spans: [number, number][] = [];
  kept.forEach((is, tick) => {
    if (!is || !serves) return;
    const last = spans.at(-1);
    if (last !== undefined && last[1] === T0 + tick * TICK) last[1] += TICK;
    else spans.push([T0 + tick * TICK, T0 + (tick + 1) * TICK]);
  });
  return spans;
}

/** The API response, as in its schema. */
export function timelineOf(one: Happened): Parameters<typeof decodeTimeline>[0] {
  const starts = (count: number, stepUs: number): number[] => Array.from({ length: count }, (_, i) => T0 + i * stepUs);
  const columns = (values: (number | null)[], stepUs: number): Schemas["TimelineCpu"] => ({
    t_us: starts(values.length, stepUs), step_us: stepUs, tick_us: stepUs, cpu_ratio: values, cpu_mean_ratio: null,
    throttled_us: values.map(() => null), throttled_periods: values.map(() => null),
  });
  const coarse = columns([...one.cpus], TICK);
  const detail = one.fine.some((part) => part?.some((value) => value !== null));
  const { dots, truncated } = dotsOf(one);
  const counts = countsIn(one);
  return {
    from_us: T0,
    to_us: T0 + one.ticks * TICK,
    served: one.serves ? ["queries"] : [],
    cpu: detail ? columns(one.fine.flatMap((part) => part ?? Array.from({ length: TICK / FINE }, () => null)), FINE) : coarse,
    coarse: detail ? coarse : null,
    limits: one.limits.map(({ tick, cpus }) => ({ from_us: T0 + tick * TICK, cpu_limit: cpus })),
    throttled: one.stalls.map(({ fromUs, toUs, periods }) => ({
      from_us: fromUs, to_us: toUs, label: "throttled", attributes: { stopped_ms: String((toUs - fromUs) / 1000), periods: String(periods) },
    })),
    gc: [],
    queries: {
      t_us: dots.map(({ us }) => us), latency_us: dots.map(({ latencyUs }) => latencyUs), result: dots.map(({ result }) => result),
      queue_wait_us: null, name: dots.map(() => 0), names: ["example. A"], complete: completeIn(one), truncated,
    },
    rate: {
      t_us: starts(one.ticks, TICK), step_us: TICK, queries: counts.map((tick) => tick?.queries ?? null), slow: counts.map((tick) => tick?.slow ?? null),
      latency_p50_us: counts.map((tick) => tick?.p50Us ?? null), latency_max_us: counts.map((tick) => tick?.maxUs ?? null),
    },
    connections: null,
    child_limits: [],
    errors: [],
    lanes: [],
    marks: [],
    slow_threshold_us: SLOW_US,
    notes: [],
  };
}
