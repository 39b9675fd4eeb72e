/** Resources, their facts and series, and the collectors that report them. */

import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";

import { toRfc3339 } from "@/lib/time";
import type { TimeView } from "@/lib/timeView";

import { api, unwrap, type Schemas } from "./client";

export type ResourceItem = Schemas["ResourceItem"];
export type ResourceDetail = Schemas["ResourceDetail"];
export type ResourceKind = ResourceItem["kind"];
export type Fact = Schemas["FactItem"];
export type SeriesChart = Schemas["SeriesChart"];
export type Collector = Schemas["CollectorItem"];
export type Collectors = Schemas["Collectors"];

export interface ResourceFilter {
  search?: string | undefined;
  kind?: ResourceKind | undefined;
  node?: number | undefined;
  throttled?: boolean | undefined;
  gone?: boolean | undefined;
}

/** Usage covers the last minute: this is often enough to feel live. */
const LIVE_MS = 5000;

// The type of the options is inferred on purpose: it carries the types of the key and the data.
/* eslint-disable @typescript-eslint/explicit-module-boundary-types */
export const resourcesQuery = (filter: ResourceFilter) =>
  infiniteQueryOptions({
    queryKey: ["resources", "list", filter] as const,
    queryFn: ({ pageParam, signal }) => unwrap(api.GET("/api/v1/resources", { params: { query: { ...filter, cursor: pageParam, limit: 200 } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
    refetchInterval: LIVE_MS,
  });

export const resourceQuery = (id: number) =>
  queryOptions({
    queryKey: ["resources", "one", id] as const,
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/resources/{resource_id}", { params: { path: { resource_id: id } }, signal })),
    refetchInterval: LIVE_MS,
  });

/** When its cgroup or node was last diagnosed. */
export const diagnosisQuery = (id: number) =>
  queryOptions({
    queryKey: ["resources", "diagnosis", id] as const,
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/resources/{resource_id}/diagnosis", { params: { path: { resource_id: id } }, signal })),
    refetchInterval: LIVE_MS,
  });

/** Facts change rarely: no need to poll every few seconds. */
export const resourceFactsQuery = (id: number) => ({ ...resourceQuery(id), refetchInterval: 60_000 });

export const seriesQuery = (resource: number, metrics: readonly string[], window: TimeView, points: number) =>
  queryOptions({
    queryKey: ["series", resource, metrics, window.fromUs, window.toUs, points] as const,
    queryFn: ({ signal }) =>
      unwrap(
        api.GET("/api/v1/series/query", {
          params: { query: { resource, metric: [...metrics], from: toRfc3339(window.fromUs), to: toRfc3339(window.toUs), points } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    enabled: metrics.length > 0,
  });

export const collectorsQuery = () =>
  infiniteQueryOptions({
    queryKey: ["collectors", "list"] as const,
    queryFn: ({ pageParam, signal }) => unwrap(api.GET("/api/v1/collectors", { params: { query: { cursor: pageParam, limit: 100 } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    refetchInterval: LIVE_MS,
  });

export const ingestTokensQuery = () =>
  queryOptions({ queryKey: ["collectors", "tokens"] as const, queryFn: ({ signal }) => unwrap(api.GET("/api/v1/collectors/tokens", { signal })) });
/* eslint-enable @typescript-eslint/explicit-module-boundary-types */
