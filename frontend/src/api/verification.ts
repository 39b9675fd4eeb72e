/** Marking a fix as applied, and the accuracy of predictions so far. */

import { queryOptions, useMutation, useQueryClient, type UseMutationResult } from "@tanstack/react-query";

import { api, unwrap, type Schemas } from "./client";
import { incidentKeys, type Incident } from "./incidents";

export type Calibration = Schemas["Calibration"];
export type PredictionOutcome = Schemas["PredictionOutcome"];

/** Starts the before/after comparison. The incident's state becomes `fix_applied`. */
export function useFixApplied(): UseMutationResult<Incident, Error, { id: number; fixId: string }> {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, fixId }) => unwrap(api.POST("/api/v1/incidents/{incident_id}/verify", { params: { path: { incident_id: id } }, body: { fix_id: fixId } })),
    onSuccess: (incident) => {
      client.setQueryData(incidentKeys.one(incident.id), incident);
      return client.invalidateQueries({ queryKey: incidentKeys.lists });
    },
  });
}

// The type of the options is inferred on purpose: it carries the types of the key and the data.
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types
export const calibrationQuery = () =>
  queryOptions({
    queryKey: ["calibration"] as const,
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/calibration", { params: { query: { recent: 60 } }, signal })),
  });
