/** Queries for incidents and their cache keys. */

import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import { api, unwrap, type Schemas } from "./client";

export type Incident = Schemas["Incident"];
export type IncidentSummary = Schemas["IncidentSummary"];
export type Verification = Schemas["Verification"];
/** What is shown of an incident, including to viewers who must not see IDs. */
export type ShownVerification = Omit<Verification, "id" | "fix_id" | "subject_id">;
export type IncidentPage = Schemas["Page_IncidentSummary_"];

type State = IncidentSummary["state"];

/** The states behind "open" and "ended". */
const STATES: Record<"active" | "closed", readonly State[]> = {
  active: ["open", "acknowledged", "fix_applied", "did_not_help", "made_worse"],
  closed: ["resolved", "verified", "not_known"],
};

export interface IncidentFilter {
  state?: "active" | "closed" | "all" | undefined;
  severity?: IncidentSummary["severity"] | undefined;
  muted?: "yes" | "no" | undefined;
  subject?: number | undefined;
  q?: string | undefined;
  /** Default: the newest first. */
  order?: "worst" | undefined;
}

export const incidentKeys = {
  all: ["incidents"] as const,
  lists: ["incidents", "list"] as const,
  list: (filter: IncidentFilter) => ["incidents", "list", filter] as const,
  one: (id: number) => ["incidents", "one", id] as const,
  timeline: (id: number, fromUs: number, toUs: number) => ["incidents", "timeline", id, fromUs, toUs] as const,
};

// The type of the options is inferred on purpose: it carries the types of the key and the data.
/* eslint-disable @typescript-eslint/explicit-module-boundary-types */
export const incidentsQuery = (filter: IncidentFilter) =>
  infiniteQueryOptions({
    queryKey: incidentKeys.list(filter),
    queryFn: ({ pageParam, signal }) =>
      unwrap(
        api.GET("/api/v1/incidents", {
          params: {
            query: {
              state: filter.state === undefined || filter.state === "all" ? undefined : [...STATES[filter.state]],
              severity: filter.severity === undefined ? undefined : [filter.severity],
              muted: filter.muted === undefined ? undefined : filter.muted === "yes",
              subject: filter.subject,
              q: filter.q,
              order: filter.order,
              cursor: pageParam,
              limit: 50,
            },
          },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
  });

export const incidentQuery = (id: number) =>
  queryOptions({
    queryKey: incidentKeys.one(id),
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/incidents/{incident_id}", { params: { path: { incident_id: id } }, signal })),
    // While a fix is measured, its figures change without an event; so do those of an ongoing fault and its fixes.
    refetchInterval: ({ state: { data } }) => (data?.verification?.state === "waiting" ? 10_000 : data !== undefined && data.resolved_at === null ? 20_000 : false),
  });
/* eslint-enable @typescript-eslint/explicit-module-boundary-types */
