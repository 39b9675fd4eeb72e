import { useCallback } from "react";

import { undoOf, useIncidentAction, type IncidentAction } from "@/api/incidentActions";
import type { IncidentSummary } from "@/api/incidents";
import { explain } from "@/api/problem";
import { useToast } from "@/ui/Toast";

const HOUR_MS = 3_600_000;

const DONE: Record<IncidentAction["kind"], string> = {
  acknowledge: "Acknowledged",
  unacknowledge: "Acknowledgment removed",
  mute: "Muted for 1 h",
  unmute: "Unmuted",
  resolve: "Resolved. It reopens if the fault returns.",
};

export interface Commands {
  toggleAcknowledge: (incident: IncidentSummary) => void;
  toggleMute: (incident: IncidentSummary) => void;
  resolve: (incident: IncidentSummary) => void;
}

/** Acknowledge, mute and resolve: shown at once, with a way back. */
export function useCommands(): Commands {
  const { mutate } = useIncidentAction();
  const toast = useToast();

  const run = useCallback(
    (id: number, action: IncidentAction): void => {
      const back = undoOf(action);
      toast({ text: DONE[action.kind], ...(back === null ? {} : { undo: () => mutate({ id, action: back }) }) });
      mutate(
        { id, action },
        {
          onError: (error) => {
            const { title, detail } = explain(error);
            toast({ text: `${title}. ${detail}`, tone: "error" });
          },
        },
      );
    },
    [mutate, toast],
  );

  return {
    toggleAcknowledge: (incident) => {
      if (incident.state === "open") run(incident.id, { kind: "acknowledge" });
      else if (incident.state === "acknowledged") run(incident.id, { kind: "unacknowledge" });
    },
    toggleMute: (incident) =>
      run(incident.id, incident.muted ? { kind: "unmute" } : { kind: "mute", until: new Date(Date.now() + HOUR_MS).toISOString() }),
    resolve: (incident) => run(incident.id, { kind: "resolve" }),
  };
}
