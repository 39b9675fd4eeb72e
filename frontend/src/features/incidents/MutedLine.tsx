import { lazy, Suspense, useState, type ReactElement } from "react";

import type { Incident } from "@/api/incidents";
import { ActionButton } from "@/ui/ActionButton";
import { useRefusal } from "@/widgets/useRefusal";

import styles from "./IncidentHeader.module.css";

const MuteReason = lazy(async () => ({ default: (await import("./MuteReason")).MuteReason }));

/** Who muted the incident and why; the reason of a mute for this incident alone can be changed later. */
export function MutedLine({ incident }: { incident: Incident }): ReactElement | null {
  const [asked, setAsked] = useState(false);
  const refusal = useRefusal("incidents:write");
  if (incident.mute === null) return null;
  return (
    <p className={styles["muted"]}>
      Muted by {incident.mute.by}: {incident.mute.reason}{" "}
      {incident.mute.only_this && (
        <ActionButton kind="quiet" refusal={refusal} onClick={() => setAsked(true)}>
          Change reason
        </ActionButton>
      )}
      <Suspense>{asked && <MuteReason incident={incident} onOpenChange={setAsked} />}</Suspense>
    </p>
  );
}
