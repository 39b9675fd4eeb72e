/** Captures of the flight recorder around an incident. */

import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import type { TimeView } from "@/lib/timeView";

import { api, unwrap, type Schemas } from "./client";

export type CaptureSummary = Schemas["CaptureSummary"];
export type CaptureDetail = Schemas["CaptureDetail"];
export type CaptureProcess = Schemas["CaptureProcess"];
export type CaptureWait = Schemas["CaptureWait"];
export type CaptureSeconds = Schemas["CaptureSeconds"];

/** Part of a capture: a time range (null: all) and whose samples. */
export interface CapturePart {
  readonly time: TimeView | null;
  readonly scope: "node" | "subject";
  readonly pid: number | null;
}

// The type of the options is inferred on purpose: it carries the types of the key and the data.
/* eslint-disable @typescript-eslint/explicit-module-boundary-types */
export const capturesQuery = (incidentId: number, goesOn: boolean) =>
  queryOptions({
    queryKey: ["incidents", "captures", incidentId] as const,
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/incidents/{incident_id}/captures", { params: { path: { incident_id: incidentId } }, signal })),
    // Captures of a trigger arrive after the incident.
    refetchInterval: goesOn ? 20_000 : false,
  });

export const captureQuery = (incidentId: number, captureId: number, part: CapturePart) =>
  queryOptions({
    queryKey: ["incidents", "captures", incidentId, captureId, part] as const,
    queryFn: ({ signal }) =>
      unwrap(
        api.GET("/api/v1/incidents/{incident_id}/captures/{capture_id}", {
          params: {
            path: { incident_id: incidentId, capture_id: captureId },
            query: {
              from: part.time === null ? undefined : String(part.time.fromUs),
              to: part.time === null ? undefined : String(part.time.toUs),
              scope: part.scope,
              pid: part.pid ?? undefined,
            },
          },
          signal,
        }),
      ),
    // A capture never changes.
    staleTime: Infinity,
    placeholderData: keepPreviousData,
  });
/* eslint-enable @typescript-eslint/explicit-module-boundary-types */
