/** Read-only links to incidents, the shared incident, and post-mortems. */

import { infiniteQueryOptions, queryOptions, useMutation, useQueryClient, type UseMutationResult } from "@tanstack/react-query";

import { parseUs } from "@/lib/time";

import { api, unwrap, type Schemas } from "./client";
import { inColumns } from "./columns";

export type SharedLink = Schemas["SharedLink"];
export type SharedIncident = Schemas["SharedIncident"];
export type PostMortem = Schemas["PostMortem"];

const keys = {
  all: ["links"] as const,
  ofIncident: (id: number) => ["links", "incident", id] as const,
  list: ["links", "list"] as const,
  policy: ["links", "policy"] as const,
};

// The type of the options is inferred on purpose: it carries the types of the key and the data.
/* eslint-disable @typescript-eslint/explicit-module-boundary-types */
export const incidentLinksQuery = (id: number) =>
  queryOptions({
    queryKey: keys.ofIncident(id),
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/incidents/{incident_id}/links", { params: { path: { incident_id: id } }, signal })),
  });

export const linksQuery = () =>
  infiniteQueryOptions({
    queryKey: keys.list,
    queryFn: ({ pageParam, signal }) => unwrap(api.GET("/api/v1/links", { params: { query: { cursor: pageParam, limit: 50 } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
  });

export const sharingPolicyQuery = () => queryOptions({ queryKey: keys.policy, queryFn: ({ signal }) => unwrap(api.GET("/api/v1/links/policy", { signal })) });

const readEdits = (id: number, signal?: AbortSignal): Promise<PostMortem> => unwrap(api.GET("/api/v1/incidents/{incident_id}/post-mortem/edits", { params: { path: { incident_id: id } }, signal }));
// openapi-fetch would parse it as JSON.
const writeFromData = (id: number, signal?: AbortSignal): Promise<string> =>
  unwrap(api.GET("/api/v1/incidents/{incident_id}/post-mortem", { params: { path: { incident_id: id }, query: { from_data: true } }, parseAs: "text", signal }));

/** The current version, for comparison with the one a dialog opened with; content generated from the data if no edits are saved. */
export async function readPostMortem(id: number): Promise<PostMortem & { content: string }> {
  const edits = await readEdits(id);
  return { ...edits, content: edits.content ?? (await writeFromData(id)) };
}

/** A text that is being edited must not be refetched. */
const ONCE = { staleTime: 0, gcTime: 0, refetchOnWindowFocus: false, refetchOnReconnect: false } as const;

/** The saved text; its content is null if there are no edits. */
export const postMortemEditsQuery = (id: number) =>
  queryOptions({
    queryKey: ["postMortem", id, "edits"] as const,
    queryFn: ({ signal }) => readEdits(id, signal),
    ...ONCE,
  });

/** Generated from the data, regardless of saved edits. */
export const postMortemQuery = (id: number) =>
  queryOptions({
    queryKey: ["postMortem", id, "data"] as const,
    queryFn: ({ signal }) => writeFromData(id, signal),
    ...ONCE,
  });

/** Request of a link holder: the secret goes in a header, without cookies. */
const asHolder = (secret: string) => ({ headers: { Authorization: `Bearer ${secret}` }, credentials: "omit" as const });

export const sharedIncidentQuery = (secret: string) =>
  queryOptions({
    queryKey: ["shared", secret] as const,
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/shared/incident", { ...asHolder(secret), signal })),
    enabled: secret !== "",
    // Also detects that the link was revoked.
    refetchInterval: ({ state: { error } }) => (error === null ? 30_000 : false),
  });

/** All changes in the timeline's window and the 10 min before it, regardless of the visible part. */
export const sharedChangesQuery = (secret: string) =>
  queryOptions({
    queryKey: ["shared", secret, "changes"] as const,
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/shared/changes", { ...asHolder(secret), signal })),
    select: ({ items }) =>
      items
        .map((change, index) => ({ key: String(index), atUs: parseUs(change.at), text: change.text, what: change.what, origin: change.origin === "seen" ? "seen by a collector" : "reported", of: [] }))
        .toReversed(),
  });

export const sharedTimeline = (secret: string, fromUs: number, toUs: number) => {
  const { headers, credentials } = asHolder(secret);
  return api.GET("/api/v1/shared/timeline", {
    params: { query: { from: String(fromUs), to: String(toUs) } },
    headers: { ...headers, ...inColumns.headers },
    credentials,
    parseAs: inColumns.parseAs,
  });
};
/* eslint-enable @typescript-eslint/explicit-module-boundary-types */

/** Saves a text based on a version. Fails with 409 if there is a newer version. */
export function useKeepPostMortem(id: number): UseMutationResult<PostMortem, Error, { content: string; version: number }> {
  return useMutation({ mutationFn: (body) => unwrap(api.PUT("/api/v1/incidents/{incident_id}/post-mortem/edits", { params: { path: { incident_id: id } }, body })) });
}

/** Discards the edits: back to the text generated from the data. */
export function useDiscardPostMortem(id: number): UseMutationResult<PostMortem, Error, number> {
  return useMutation({ mutationFn: (version) => unwrap(api.DELETE("/api/v1/incidents/{incident_id}/post-mortem/edits", { params: { path: { incident_id: id }, query: { version } } })) });
}

export function useCreateLink(incidentId: number): UseMutationResult<Schemas["NewSharedLink"], Error, number> {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (days) => unwrap(api.POST("/api/v1/incidents/{incident_id}/links", { params: { path: { incident_id: incidentId } }, body: { expires_in_days: days } })),
    onSettled: () => client.invalidateQueries({ queryKey: keys.all }),
  });
}

export function useRevokeLink(): UseMutationResult<SharedLink, Error, number> {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id) => unwrap(api.DELETE("/api/v1/links/{link_id}", { params: { path: { link_id: id } } })),
    onSettled: () => client.invalidateQueries({ queryKey: keys.all }),
  });
}

export function useAllowLinks(): UseMutationResult<Schemas["SharingState"], Error, boolean> {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (allowed) => unwrap(api.PUT("/api/v1/links/policy", { body: { links_allowed: allowed } })),
    onSettled: () => client.invalidateQueries({ queryKey: keys.all }),
  });
}
