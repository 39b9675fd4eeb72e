/** How long pods take to start on a node, and how long without the eBPF programs that the kernel verifies. */

import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, unwrap, type Schemas } from "./client";

export type PodStart = Schemas["PodStart"];
export type StartupPart = Schemas["StartupPart"];
export type StartupStack = Schemas["StartupStack"];
export type StartupPoint = Schemas["StartupPoint"];
export type StartupPod = Schemas["StartupPod"];
export type StartupVerifier = Schemas["StartupVerifier"];
export type StartupPercentiles = Schemas["StartupPercentiles"];
export type StartupChange = Schemas["StartupChange"];
export type StartupWhatIf = Schemas["StartupWhatIf"];

/** The window: the latest minutes, or those before `to` (µs). */
export interface StartupScope {
  node?: number | undefined;
  minutes: number;
  to?: number | undefined;
  /** Compare the starts before and after this moment (µs). */
  split?: number | undefined;
}

const LIVE_MS = 15_000;

/** Without an end, the server uses the newest data, and the window's length follows from `from` and the server's clock. */
const windowOf = ({ minutes, to }: StartupScope): { from?: string; to?: string } => {
  const endUs = to ?? Date.now() * 1000;
  const from = String(Math.round(endUs - minutes * 60_000_000));
  return to === undefined ? { from } : { from, to: String(Math.round(to)) };
};

// The type of the options is inferred on purpose: it carries the types of the key and the data.
/* eslint-disable @typescript-eslint/explicit-module-boundary-types */
export const podStartQuery = (scope: StartupScope) =>
  queryOptions({
    queryKey: ["startup", scope] as const,
    queryFn: ({ signal }) =>
      unwrap(
        api.GET("/api/v1/pod-starts", {
          params: { query: { node: scope.node, split: scope.split === undefined ? undefined : String(Math.round(scope.split)), ...windowOf(scope) } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: scope.to === undefined ? LIVE_MS : false,
  });

/** The starts of a fixed window without the named programs; none named: without all. */
export const podStartWhatIfQuery = (node: number, fromUs: number, toUs: number, without: readonly string[]) =>
  queryOptions({
    queryKey: ["startup", "what-if", node, fromUs, toUs, without] as const,
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/v1/pod-starts/what-if", { params: { query: { node, from: String(fromUs), to: String(toUs), without: [...without] } }, signal })),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  });
