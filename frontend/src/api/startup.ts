/** How long pods take to start on a node, and what it would be without programs that the kernel verifies. */

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

/** What is looked at: the newest minutes, or those before `to` (µs). */
export interface StartupScope {
  node?: number | undefined;
  minutes: number;
  to?: number | undefined;
  /** Compare the starts before and after this moment (µs). */
  split?: number | undefined;
}

const LIVE_MS = 15_000;

/** Without an end the server takes the newest data; the window's length then follows from `from` and its clock. */
const windowOf = ({ minutes, to }: StartupScope): { from?: string; to?: string } => {
  const endUs = to ?? Date.now() * 1000;
  const from = String(Math.round(endUs - minutes * 60_000_000));
  return to === undefined ? { from } : { from, to: String(Math.round(to)) };
};

// The options are inferred on purpose: their type carries the key's and the data's.
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

/** The starts of a fixed window without programs of these names; none named: without all. */
export const podStartWhatIfQuery = (node: number, fromUs: number, toUs: number, without: readonly string[]) =>
  queryOptions({
    queryKey: ["startup", "what-if", node, fromUs, toUs, without] as const,
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/v1/pod-starts/what-if", { params: { query: { node, from: String(fromUs), to: String(toUs), without: [...without] } }, signal })),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  });
