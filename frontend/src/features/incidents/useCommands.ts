import { useCallback } from "react";

import { undoOf, useIncidentAction, type IncidentAction } from "@/api/incidentActions";
import type { IncidentSummary } from "@/api/incidents";
import { inHours } from "@/api/mutes";
import { explain } from "@/api/problem";
import { useToast } from "@/ui/Toast";
import { useRefusal } from "@/widgets/useRefusal";

const DONE: Record<Exclude<IncidentAction["kind"], "mute">, string> = {
  acknowledge: "Acknowledged",
  unacknowledge: "Acknowledgment removed",
  unmute: "Unmuted",
  resolve: "Resolved. It reopens if the fault returns.",
};

export interface Commands {
  toggleAcknowledge: (incident: IncidentSummary) => void;
  toggleMute: (incident: IncidentSummary) => void;
  /** `length` as displayed. */
  muteFor: (incident: IncidentSummary, length: string, hours: number) => void;
  resolve: (incident: IncidentSummary) => void;
}

/** Acknowledge, mute, and resolve: applied optimistically, with undo. A user who may not is told so instead. */
export function useCommands(): Commands {
  const { mutate } = useIncidentAction();
  const toast = useToast();
  const refusal = useRefusal("incidents:write");

  const run = useCallback(
    ({ id, muted_until, mute }: IncidentSummary, action: IncidentAction, done?: string): void => {
      if (refusal !== null) {
        toast({ text: refusal });
        return;
      }
      const back = action.kind === "unmute" ? ({ kind: "mute", until: muted_until, ...(mute === null ? {} : { reason: mute.reason }) } as const) : undoOf(action);
      toast({ text: done ?? (action.kind === "mute" ? "Muted" : DONE[action.kind]), ...(back === null ? {} : { undo: () => mutate({ id, action: back }) }) });
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
    [mutate, refusal, toast],
  );

  const muteFor: Commands["muteFor"] = (incident, length, hours) => run(incident, { kind: "mute", until: inHours(hours) }, `Muted for ${length}`);
  return {
    toggleAcknowledge: (incident) => {
      if (incident.state === "open") run(incident, { kind: "acknowledge" });
      else if (incident.state === "acknowledged") run(incident, { kind: "unacknowledge" });
    },
    toggleMute: (incident) => (incident.muted ? run(incident, { kind: "unmute" }) : muteFor(incident, "1 h", 1)),
    muteFor,
    resolve: (incident) => run(incident, { kind: "resolve" }),
  };
}
