/** What-if for memory: a burst of queries under a cap, or another limit. */

import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import type { TimeView } from "@/lib/timeView";

import { api, unwrap, type Schemas } from "./client";

export type MemoryChange = Pick<Schemas["MemoryChange"], "max_concurrent" | "limit_bytes">;
export type MemoryWhatIf = Schemas["MemoryWhatIf"];
export type MemoryPrediction = Schemas["MemoryPrediction"];

/** The answer's first prediction is as it was, the second under the change. */
// The options are inferred on purpose: their type carries the key's and the data's.
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types
export const memoryWhatIfQuery = (resourceId: number, window: TimeView, change: MemoryChange) =>
  queryOptions({
    queryKey: ["whatif-memory", resourceId, window.fromUs, window.toUs, change] as const,
    queryFn: ({ signal }) =>
      unwrap(
        api.POST("/api/v1/whatif/memory", {
          body: { resource_id: resourceId, from: window.fromUs, to: window.toUs, settings: [{ replicas: 1 }, { ...change, replicas: 1 }] },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    gcTime: 60_000,
  });
