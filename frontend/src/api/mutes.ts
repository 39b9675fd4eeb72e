/** Mutes: which incidents send no notifications, until when, and why. */

import { infiniteQueryOptions, queryOptions, useMutation, useQueryClient, type UseMutationResult } from "@tanstack/react-query";

import { api, unwrap, type Schemas } from "./client";
import { incidentKeys } from "./incidents";

export type Mute = Schemas["Mute"];
/** What a mute applies to. */
export type MuteFilter = Pick<Mute, "incident_id" | "resource_id" | "severities" | "conditions" | "hours">;
export type NewMute = MuteFilter & { readonly until: string | null; readonly reason: string };

const keys = { all: ["mutes"] as const, list: (ended: boolean) => ["mutes", "list", ended] as const };

// The type of the options is inferred on purpose: it carries the types of the key and the data.
/* eslint-disable @typescript-eslint/explicit-module-boundary-types */
export const mutesQuery = (ended: boolean) =>
  infiniteQueryOptions({
    queryKey: keys.list(ended),
    queryFn: ({ pageParam, signal }) => unwrap(api.GET("/api/v1/mutes", { params: { query: { ended, cursor: pageParam, limit: ended ? 20 : 200 } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    refetchInterval: 20_000,
  });

export const mutePreviewQuery = (filter: MuteFilter) =>
  queryOptions({
    queryKey: ["mutes", "preview", filter] as const,
    queryFn: ({ signal }) => unwrap(api.POST("/api/v1/mutes/preview", { body: filter, signal })),
    staleTime: 30_000,
    retry: false,
  });
/* eslint-enable @typescript-eslint/explicit-module-boundary-types */

function useChange<Given>(change: (given: Given) => Promise<Mute>): UseMutationResult<Mute, Error, Given> {
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSettled: () => Promise.all([client.invalidateQueries({ queryKey: keys.all }), client.invalidateQueries({ queryKey: incidentKeys.all })]),
  });
}

export const useCreateMute = (): UseMutationResult<Mute, Error, NewMute> => useChange((body) => unwrap(api.POST("/api/v1/mutes", { body })));

export const useEndMute = (): UseMutationResult<Mute, Error, number> => useChange((id) => unwrap(api.POST("/api/v1/mutes/{mute_id}/end", { params: { path: { mute_id: id } } })));

const HOUR_MS = 3_600_000;

/** Durations of a mute: hours by name. */
export const DURATIONS = [
  ["1 h", 1],
  ["4 h", 4],
  ["1 day", 24],
  ["1 week", 168],
] as const;

export const inHours = (hours: number): string => new Date(Date.now() + hours * HOUR_MS).toISOString();
