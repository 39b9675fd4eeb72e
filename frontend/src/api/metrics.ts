/** Metrics that other systems send by Prometheus remote write. */

import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";

import { toRfc3339 } from "@/lib/time";
import type { TimeView } from "@/lib/timeView";

import { api, unwrap, type Schemas } from "./client";

export type MetricName = Schemas["MetricName"];
export type MetricLabel = Schemas["MetricLabel"];
export type MetricCharts = Schemas["MetricCharts"];
export type MetricSeries = Schemas["MetricSeries"];
export type MetricView = MetricCharts["view"];
export type Received = Schemas["Received"];

export interface MetricFilter {
  /** NAME=VALUE, NAME!=VALUE, NAME~PART. */
  match?: readonly string[] | undefined;
  /** Only metrics that belong to this resource. */
  resource?: number | undefined;
}

const LIVE_MS = 15_000;
const range = (window: TimeView): { from: string; to: string } => ({ from: toRfc3339(window.fromUs), to: toRfc3339(window.toUs) });
const filterOf = ({ match, resource }: MetricFilter): { match?: string[]; resource?: number } => ({ ...(match === undefined || match.length === 0 ? {} : { match: [...match] }), ...(resource === undefined ? {} : { resource }) });

// The type of the options is inferred on purpose: it carries the types of the key and the data.
/* eslint-disable @typescript-eslint/explicit-module-boundary-types */
export const metricNamesQuery = (search: string, filter: MetricFilter, window: TimeView, limit: number) =>
  infiniteQueryOptions({
    // The start of the window is rounded to the hour, so that its end can move without another request.
    queryKey: ["metrics", "names", search, filter, Math.floor(window.fromUs / 3_600_000_000), limit] as const,
    queryFn: ({ pageParam, signal }) => unwrap(api.GET("/api/v1/metrics", { params: { query: { search, ...filterOf(filter), ...range(window), cursor: pageParam, limit } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
    refetchInterval: 60_000,
  });

export const metricLabelsQuery = (name: string, filter: MetricFilter, window: TimeView) =>
  queryOptions({
    queryKey: ["metrics", "labels", name, filter, Math.floor(window.fromUs / 3_600_000_000)] as const,
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/metrics/labels", { params: { query: { name, ...filterOf(filter), ...range(window) } }, signal })),
    placeholderData: keepPreviousData,
  });

export interface SeriesPage {
  view?: MetricView | undefined;
  points: number;
  limit: number;
}

export const metricSeriesQuery = (name: string, filter: MetricFilter, window: TimeView, { view, points, limit }: SeriesPage) =>
  infiniteQueryOptions({
    queryKey: ["metrics", "series", name, filter, window.fromUs, window.toUs, view, points, limit] as const,
    queryFn: ({ pageParam, signal }) => unwrap(api.GET("/api/v1/metrics/series", { params: { query: { name, ...filterOf(filter), ...range(window), view, points, limit, cursor: pageParam } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
  });

export const receivedQuery = () =>
  queryOptions({
    queryKey: ["metrics", "received"] as const,
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/metrics/received", { signal })),
    refetchInterval: LIVE_MS,
  });
/* eslint-enable @typescript-eslint/explicit-module-boundary-types */
