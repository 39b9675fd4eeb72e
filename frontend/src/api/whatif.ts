/** What-if: other settings replayed on a recorded window. */

import { keepPreviousData, queryOptions, useMutation, type UseMutationResult } from "@tanstack/react-query";

import type { TimeView } from "@/lib/timeView";

import { api, unwrap, type Schemas } from "./client";

type Answer = Schemas["WhatIf"];
type Tried = Schemas["WhatIfTried"];
export type WhatIfModel = Schemas["WhatIfModel"];
export type ModelAnswer = Answer;
export type ModelSettings = Answer["settings"];

/** A complete setting of the CPU model. null: no CPU limit; no Go program (gomaxprocs); GOGC off; no GOMEMLIMIT. */
export interface Setting {
  readonly cpu_limit: number | null;
  readonly period_us: number;
  readonly burst_us: number;
  readonly gomaxprocs: number | null;
  readonly gogc: number | null;
  readonly gomemlimit_bytes: number | null;
  /** For each one that ran. */
  readonly replicas: number;
}
export type SettingChange = { readonly [name in keyof Setting]?: number | null };
export type SearchGoal = Schemas["SearchGoal"];

const FIGURE_IDS = ["throttled_ms_per_min", "throttled_ratio", "slow_ratio", "p50_ms", "p99_ms", "max_ms", "gc_cycles_per_min", "cpu_mean"] as const;
type FigureId = (typeof FIGURE_IDS)[number];

export interface WhatIfTimeline {
  readonly t_us: readonly number[];
  readonly step_us: number;
  readonly cpu_ratio: readonly (number | null)[];
  readonly throttled_us: readonly (number | null)[];
  readonly latency_max_us: readonly (number | null)[];
  readonly gc: readonly (readonly number[])[];
}

export type Prediction = { readonly [name in FigureId]: Schemas["Interval"] | null } & {
  readonly setting: Setting;
  readonly cannot_tell: string | null;
  readonly notes: readonly string[];
  readonly timeline: WhatIfTimeline | null;
};

/** A result of the CPU model, figures by name. */
export interface WhatIf {
  readonly recorded: { readonly setting: Setting; readonly figures: { readonly [name in FigureId]: number | null }; readonly timeline: WhatIfTimeline | null };
  readonly predictions: readonly Prediction[];
  readonly search: readonly { readonly parameter: keyof Setting; readonly value: number | null; readonly sentence: string }[] | null;
  readonly node_cpus: number | null;
  readonly slow_threshold_us: number;
  readonly notes: readonly string[];
  readonly cannot_tell: string | null;
}

function settingOf(values: ModelSettings): Setting {
  const number = (name: keyof Setting): number | null => {
    const value = values[name];
    return typeof value === "number" ? value : null;
  };
  return {
    cpu_limit: number("cpu_limit"), period_us: number("period_us") ?? 100_000, burst_us: number("burst_us") ?? 0, gomaxprocs: number("gomaxprocs"),
    gogc: number("gogc"), gomemlimit_bytes: number("gomemlimit_bytes"), replicas: number("replicas") ?? 1,
  };
}

function byName<Value>(pick: (figure: Answer["figures"][number]) => Value | null, figures: Answer["figures"]): { [name in FigureId]: Value | null } {
  const found = (name: FigureId): Value | null => {
    const figure = figures.find(({ id }) => id === name);
    return figure === undefined ? null : pick(figure);
  };
  return Object.fromEntries(FIGURE_IDS.map((name) => [name, found(name)])) as { [name in FigureId]: Value | null };
}

function timelineOf(timeline: Tried["timeline"] | null): WhatIfTimeline | null {
  if (timeline === null) return null;
  const line = (name: string): readonly (number | null)[] => timeline.lines.find(({ id }) => id === name)?.values ?? [];
  return {
    t_us: timeline.t_us, step_us: timeline.step_us, cpu_ratio: line("cpu_ratio"), throttled_us: line("throttled_us"), latency_max_us: line("latency_max_us"),
    gc: timeline.spans.map(({ from_us, to_us }) => [from_us, to_us]),
  };
}

const predictionOf = (tried: Tried): Prediction => ({
  ...byName(({ interval }) => interval, tried.figures),
  setting: settingOf(tried.settings), cannot_tell: tried.cannot_tell, notes: tried.notes, timeline: timelineOf(tried.timeline),
});

function cpuAnswer(answer: Answer): WhatIf {
  return {
    recorded: { setting: settingOf(answer.settings), figures: byName(({ value }) => value, answer.figures), timeline: timelineOf(answer.timeline) },
    predictions: answer.tried.map(predictionOf),
    search: answer.search?.map(({ control, value, sentence }) => ({ parameter: control as keyof Setting, value, sentence })) ?? null,
    node_cpus: answer.ranges["cpu_limit"]?.most ?? null,
    slow_threshold_us: answer.slow_threshold_us,
    notes: answer.notes,
    cannot_tell: answer.cannot_tell,
  };
}

/** Enough for 10 min at 100 ms: zooming in shows every tick without a new request. */
const POINTS = 6000;

export interface WhatIfWindow {
  readonly resourceId: number;
  readonly window: TimeView;
}

// The type of the options is inferred on purpose: it carries the types of the key and the data.
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types
export const whatIfQuery = ({ resourceId, window }: WhatIfWindow, change: SettingChange) =>
  queryOptions({
    queryKey: ["whatif", resourceId, window.fromUs, window.toUs, change] as const,
    // The signal aborts a request that a newer one has superseded.
    queryFn: async ({ signal }) =>
      cpuAnswer(
        await unwrap(
          api.POST("/api/v1/whatif/{model}", {
            params: { path: { model: "cpu" } },
            body: { resource_id: resourceId, from: window.fromUs, to: window.toUs, settings: [{ ...change }], timeline: true, points: POINTS },
            signal,
          }),
        ),
      ),
    // The last result stays visible until the next one arrives.
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    gcTime: 60_000,
  });

/** The smallest value of each parameter that meets a goal. Takes seconds, so it runs on demand. */
export function useWhatIfSearch({ resourceId, window }: WhatIfWindow): UseMutationResult<WhatIf, Error, SearchGoal> {
  return useMutation({
    mutationFn: async (search) =>
      cpuAnswer(
        await unwrap(
          api.POST("/api/v1/whatif/{model}", {
            params: { path: { model: "cpu" } },
            body: { resource_id: resourceId, from: window.fromUs, to: window.toUs, settings: [], timeline: false, points: POINTS, search },
          }),
        ),
      ),
  });
}

/** Models available for incidents of a cause, with their controls. */
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types
export const whatIfModelsQuery = (cause: string) =>
  queryOptions({
    queryKey: ["whatif-models", cause] as const,
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/whatif/models", { params: { query: { cause } }, signal })),
    staleTime: Infinity,
  });

/** Result of any model: the first run is as recorded, the second with the change. */
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types
export const modelQuery = (model: string, { resourceId, window }: WhatIfWindow, change: ModelSettings) =>
  queryOptions({
    queryKey: ["whatif", model, resourceId, window.fromUs, window.toUs, change] as const,
    queryFn: ({ signal }) =>
      unwrap(
        api.POST("/api/v1/whatif/{model}", {
          params: { path: { model } },
          body: { resource_id: resourceId, from: window.fromUs, to: window.toUs, settings: [{}, change], timeline: false, points: POINTS },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    gcTime: 60_000,
  });
