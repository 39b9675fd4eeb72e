/** The DNS path of a node, names, clients, and "am I affected?". */

import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, unwrap, type Schemas } from "./client";

export type DnsPath = Schemas["DnsPath"];
export type DnsHop = Schemas["DnsHop"];
export type DnsLink = Schemas["DnsLink"];
export type DnsNames = Schemas["DnsNames"];
export type DnsClient = Schemas["DnsClient"];
export type DnsClients = Schemas["DnsClients"];
export type DnsAffected = Schemas["DnsAffected"];
export type DnsOrder = "queries" | "nxdomain" | "time";

/** The window: the latest minutes, or those before `to` (µs). */
export interface DnsScope {
  node?: number | undefined;
  minutes: number;
  to?: number | undefined;
}

const LIVE_MS = 10_000;

/** Without an end, the server uses the newest data, and the window's length follows from `from` and the server's clock. */
const windowOf = ({ minutes, to }: DnsScope): { from?: string; to?: string } => {
  const endUs = to ?? Date.now() * 1000;
  const from = String(Math.round(endUs - minutes * 60_000_000));
  return to === undefined ? { from } : { from, to: String(Math.round(to)) };
};

const shared = (scope: DnsScope): { placeholderData: typeof keepPreviousData; refetchInterval: number | false } => ({
  placeholderData: keepPreviousData,
  refetchInterval: scope.to === undefined ? LIVE_MS : false,
});

// The type of the options is inferred on purpose: it carries the types of the key and the data.
/* eslint-disable @typescript-eslint/explicit-module-boundary-types */
export const dnsPathQuery = (scope: DnsScope) =>
  queryOptions({
    queryKey: ["dns", "path", scope] as const,
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/dns/path", { params: { query: { node: scope.node, ...windowOf(scope) } }, signal })),
    ...shared(scope),
  });

export const dnsAffectedQuery = (scope: DnsScope) =>
  queryOptions({
    queryKey: ["dns", "affected", scope] as const,
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/dns/affected", { params: { query: { node: scope.node, ...windowOf(scope) } }, signal })),
    ...shared(scope),
  });

/** `servers`: IDs of the servers that clients query, so that a query counts once. */
export const dnsNamesQuery = (scope: DnsScope, servers: readonly number[], order: DnsOrder) =>
  queryOptions({
    queryKey: ["dns", "names", scope, servers, order] as const,
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/v1/dns/names", { params: { query: { node: scope.node, server: [...servers], order, limit: 30, ...windowOf(scope) } }, signal })),
    ...shared(scope),
  });

export const dnsClientsQuery = (scope: DnsScope, servers: readonly number[]) =>
  queryOptions({
    queryKey: ["dns", "clients", scope, servers] as const,
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/v1/dns/clients", { params: { query: { node: scope.node, server: [...servers], limit: 30, ...windowOf(scope) } }, signal })),
    ...shared(scope),
  });
/* eslint-enable @typescript-eslint/explicit-module-boundary-types */
