/** Links to incidents for people without an account, what they show, and post-mortems. */

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

// The options are inferred on purpose: their type carries the key's and the data's.
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
// openapi-fetch would take it for JSON.
const writeFromData = (id: number, signal?: AbortSignal): Promise<string> =>
  unwrap(api.GET("/api/v1/incidents/{incident_id}/post-mortem", { params: { path: { incident_id: id }, query: { from_data: true } }, parseAs: "text", signal }));

/** What there is by now, beside what a dialog opened with; its content from the data where nobody keeps another text. */
export async function readPostMortem(id: number): Promise<PostMortem & { content: string }> {
  const edits = await readEdits(id);
  return { ...edits, content: edits.content ?? (await writeFromData(id)) };
}

/** What is being edited must not be written anew. */
const ONCE = { staleTime: 0, gcTime: 0, refetchOnWindowFocus: false, refetchOnReconnect: false } as const;

/** The text as members keep it; its content is null where nobody edited it. */
export const postMortemEditsQuery = (id: number) =>
  queryOptions({
    queryKey: ["postMortem", id, "edits"] as const,
    queryFn: ({ signal }) => readEdits(id, signal),
    ...ONCE,
  });

/** Written from the data, whatever members made of it. */
export const postMortemQuery = (id: number) =>
  queryOptions({
    queryKey: ["postMortem", id, "data"] as const,
    queryFn: ({ signal }) => writeFromData(id, signal),
    ...ONCE,
  });

/** Of whoever holds the link: its secret goes in a header, and no cookie with it. */
const asHolder = (secret: string) => ({ headers: { Authorization: `Bearer ${secret}` }, credentials: "omit" as const });

export const sharedIncidentQuery = (secret: string) =>
  queryOptions({
    queryKey: ["shared", secret] as const,
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/shared/incident", { ...asHolder(secret), signal })),
    enabled: secret !== "",
    // Also to notice that it was revoked.
    refetchInterval: ({ state: { error } }) => (error === null ? 30_000 : false),
  });

/** What was changed around its picture, from 10 min before: all of it, whatever part is looked at. */
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

/** Keeps a text that was made of a version. Fails with 409 where there is another one by now. */
export function useKeepPostMortem(id: number): UseMutationResult<PostMortem, Error, { content: string; version: number }> {
  return useMutation({ mutationFn: (body) => unwrap(api.PUT("/api/v1/incidents/{incident_id}/post-mortem/edits", { params: { path: { incident_id: id } }, body })) });
}

/** Back to the text that is written from the data. */
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
