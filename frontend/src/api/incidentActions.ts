/** Actions on an incident: applied optimistically, rolled back if the server refuses. */

import { useMutation, useQueryClient, type InfiniteData, type UseMutationResult } from "@tanstack/react-query";

import { api, unwrap } from "./client";
import { incidentKeys, type Incident, type IncidentPage, type IncidentSummary } from "./incidents";

export type IncidentAction =
  | { readonly kind: "acknowledge" | "unacknowledge" | "resolve" | "unmute" }
  | { readonly kind: "mute"; readonly until: string | null; readonly reason?: string };

export interface IncidentChange {
  readonly id: number;
  readonly action: IncidentAction;
}

/** The incident after the action. Pure. */
export function afterAction<Shape extends IncidentSummary>(incident: Shape, action: IncidentAction): Shape {
  switch (action.kind) {
    case "acknowledge":
      return { ...incident, state: "acknowledged" };
    case "unacknowledge":
      return { ...incident, state: "open" };
    case "resolve":
      return { ...incident, state: "resolved", resolved_at: new Date().toISOString() };
    case "mute":
      return { ...incident, muted: true, muted_until: action.until, mute: null };
    case "unmute":
      return { ...incident, muted: false, muted_until: null, mute: null };
  }
}

/** The action that undoes another; null if none does. */
export function undoOf(action: IncidentAction): IncidentAction | null {
  switch (action.kind) {
    case "acknowledge":
      return { kind: "unacknowledge" };
    case "mute":
      return { kind: "unmute" };
    case "unmute":
      return { kind: "mute", until: null };
    case "unacknowledge":
      return { kind: "acknowledge" };
    case "resolve":
      return null;
  }
}

function send({ id, action }: IncidentChange): Promise<Incident> {
  const params = { path: { incident_id: id } };
  switch (action.kind) {
    case "mute":
      return unwrap(api.POST("/api/v1/incidents/{incident_id}/mute", { params, body: { until: action.until, reason: action.reason ?? null } }));
    case "unmute":
      return unwrap(api.POST("/api/v1/incidents/{incident_id}/unmute", { params }));
    case "acknowledge":
      return unwrap(api.POST("/api/v1/incidents/{incident_id}/acknowledge", { params, body: {} }));
    case "unacknowledge":
      return unwrap(api.POST("/api/v1/incidents/{incident_id}/unacknowledge", { params }));
    case "resolve":
      return unwrap(api.POST("/api/v1/incidents/{incident_id}/resolve", { params, body: {} }));
  }
}

/** A note by the user in the history. */
export function useAddNote(id: number): UseMutationResult<Incident, Error, string> {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (note) => unwrap(api.POST("/api/v1/incidents/{incident_id}/note", { params: { path: { incident_id: id } }, body: { note } })),
    onSuccess: (incident) => client.setQueryData(incidentKeys.one(id), incident),
  });
}

/** Changes the user's own note; null deletes it. */
export function useChangeNote(id: number, noteId: number): UseMutationResult<Incident, Error, string | null> {
  const client = useQueryClient();
  const params = { path: { incident_id: id, note_id: noteId } };
  return useMutation({
    mutationFn: (note) =>
      unwrap(note === null ? api.DELETE("/api/v1/incidents/{incident_id}/notes/{note_id}", { params }) : api.PUT("/api/v1/incidents/{incident_id}/notes/{note_id}", { params, body: { note } })),
    onSuccess: (incident) => client.setQueryData(incidentKeys.one(id), incident),
  });
}

type Lists = InfiniteData<IncidentPage> | undefined;

export function useIncidentAction(): UseMutationResult<Incident, Error, IncidentChange, { undo: () => void }> {
  const client = useQueryClient();
  return useMutation({
    mutationFn: send,
    onMutate: async ({ id, action }) => {
      await client.cancelQueries({ queryKey: incidentKeys.all });
      const lists = client.getQueriesData<Lists>({ queryKey: incidentKeys.lists });
      const one = client.getQueryData<Incident>(incidentKeys.one(id));
      client.setQueriesData<Lists>({ queryKey: incidentKeys.lists }, (data) =>
        data === undefined
          ? data
          : {
              ...data,
              pages: data.pages.map((page) => ({
                ...page,
                items: page.items.map((item) => (item.id === id ? afterAction(item, action) : item)),
              })),
            },
      );
      if (one !== undefined) client.setQueryData(incidentKeys.one(id), afterAction(one, action));
      return {
        undo: () => {
          for (const [key, data] of lists) client.setQueryData(key, data);
          if (one !== undefined) client.setQueryData(incidentKeys.one(id), one);
        },
      };
    },
    onError: (_error, _change, context) => context?.undo(),
    onSettled: (_data, _error, { id }) =>
      Promise.all([
        client.invalidateQueries({ queryKey: incidentKeys.lists }),
        client.invalidateQueries({ queryKey: incidentKeys.one(id) }),
      ]),
  });
}
