/** Every server, whatever its protocol, with its figures over a window. */

import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, unwrap, type Schemas } from "./client";

export type Services = Schemas["Services"];
export type ServiceItem = Schemas["ServiceItem"];
export type RequestKind = Schemas["RequestKind"];
export type ServiceMap = Schemas["ServiceMap"];
export type MapPlace = Schemas["MapPlace"];
export type MapCall = Schemas["MapCall"];
export type ServiceOrder = "name" | "rate" | "failed" | "p50" | "p99" | "slow" | "worst" | "runtime" | "stalls";

export interface ServiceList {
  minutes: number;
  /** End of the window, µs; absent: now. */
  to?: number | undefined;
  search: string;
  order: ServiceOrder;
  descending: boolean;
}

/** The window of a map, and which part of it: what contains a text, or what is near a server or container. */
export interface MapScope {
  minutes: number;
  /** End of the window, µs; absent: now. */
  to?: number | undefined;
  search?: string | undefined;
  resource?: number | undefined;
  hops?: number | undefined;
}

const LIVE_MS = 30_000;

const windowOf = (minutes: number, to: number | undefined): { from: string; to: string } => {
  const endUs = to ?? Date.now() * 1000;
  return { from: String(Math.round(endUs - minutes * 60_000_000)), to: String(Math.round(endUs)) };
};

// The type of the options is inferred on purpose: it carries the types of the key and the data.
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types
export const servicesQuery = ({ minutes, to, search, order, descending }: ServiceList) =>
  infiniteQueryOptions({
    queryKey: ["services", { minutes, to, search, order, descending }] as const,
    queryFn: ({ pageParam, signal }) => unwrap(api.GET("/api/v1/services", { params: { query: { ...windowOf(minutes, to), search, order, descending, cursor: pageParam } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
    refetchInterval: to === undefined ? LIVE_MS : false,
  });

/** Requests to a TCP server in the last 15 min, by kind. */
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types
export const requestKindsQuery = (id: number) =>
  queryOptions({
    queryKey: ["services", "kinds", id] as const,
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/services/{resource_id}/request-kinds", { params: { path: { resource_id: id } }, signal })),
    refetchInterval: LIVE_MS,
  });

/** Who calls whom, with the time of each hop. */
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types
export const serviceMapQuery = ({ minutes, to, search, resource, hops }: MapScope) =>
  queryOptions({
    queryKey: ["services", "map", { minutes, to, search, resource, hops }] as const,
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/services/map", { params: { query: { ...windowOf(minutes, to), search, resource, hops } }, signal })),
    placeholderData: keepPreviousData,
    refetchInterval: to === undefined ? LIVE_MS : false,
  });
