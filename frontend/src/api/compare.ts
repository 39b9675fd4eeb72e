/** A window compared with another time or another resource. */

import { queryOptions } from "@tanstack/react-query";

import type { TimeView } from "@/lib/timeView";

import { api, unwrap, type Schemas } from "./client";

export type Comparison = Schemas["Comparison"];
export type ComparedMeasure = Schemas["ComparedMeasure"];

// The type of the options is inferred on purpose: it carries the types of the key and the data.
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types
export const comparisonQuery = (resource: number, window: TimeView, otherResource: number, otherFromUs: number) =>
  queryOptions({
    queryKey: ["compare", resource, window.fromUs, window.toUs, otherResource, otherFromUs] as const,
    queryFn: ({ signal }) =>
      unwrap(
        api.GET("/api/v1/compare", {
          params: { query: { resource, from: String(window.fromUs), to: String(window.toUs), other_resource: otherResource, other_from: String(otherFromUs) } },
          signal,
        }),
      ),
    enabled: resource !== otherResource || otherFromUs !== window.fromUs,
  });
