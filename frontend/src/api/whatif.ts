/** What-if: other settings tried on a recorded window. */

import { keepPreviousData, queryOptions, useMutation, type UseMutationResult } from "@tanstack/react-query";

import type { TimeView } from "@/lib/timeView";

import { api, unwrap, type Schemas } from "./client";

/** The client reads tuples as arrays. */
export type WhatIfTimeline = Omit<Schemas["WhatIfTimeline"], "gc"> & { gc: readonly (readonly number[])[] };
export type Prediction = Omit<Schemas["WhatIfPrediction"], "timeline"> & { timeline: WhatIfTimeline | null };
export type SearchResult = Omit<Schemas["SearchResult"], "prediction"> & { prediction: Prediction | null };
export type WhatIf = Omit<Schemas["WhatIf"], "predictions" | "recorded" | "search"> & {
  predictions: Prediction[];
  recorded: Omit<Schemas["Recorded"], "timeline"> & { timeline: WhatIfTimeline | null };
  search: SearchResult[] | null;
};
export type Setting = Schemas["WhatIfSetting"];
export type SettingChange = Schemas["SettingChange"];
export type SearchGoal = Schemas["SearchGoal"];

/** Enough for ten minutes at 100 ms: zooming in shows every tick and needs no new request. */
const POINTS = 6000;

export interface WhatIfWindow {
  readonly resourceId: number;
  readonly window: TimeView;
}

// The options are inferred on purpose: their type carries the key's and the data's.
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types
export const whatIfQuery = ({ resourceId, window }: WhatIfWindow, change: SettingChange) =>
  queryOptions({
    queryKey: ["whatif", resourceId, window.fromUs, window.toUs, change] as const,
    // A request that a newer one has overtaken is aborted by the signal.
    queryFn: ({ signal }) =>
      unwrap(
        api.POST("/api/v1/whatif", {
          body: { resource_id: resourceId, from: window.fromUs, to: window.toUs, settings: [change], timeline: true, points: POINTS },
          signal,
        }),
      ),
    // The last result stays on the screen until the next one is there.
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    gcTime: 60_000,
  });

/** The least of each parameter that meets a goal. Takes seconds, so it is asked for, not kept up to date. */
export function useWhatIfSearch({ resourceId, window }: WhatIfWindow): UseMutationResult<WhatIf, Error, SearchGoal> {
  return useMutation({
    mutationFn: (search) =>
      unwrap(
        api.POST("/api/v1/whatif", {
          body: { resource_id: resourceId, from: window.fromUs, to: window.toUs, settings: [], timeline: false, points: POINTS, search },
        }),
      ),
  });
}
