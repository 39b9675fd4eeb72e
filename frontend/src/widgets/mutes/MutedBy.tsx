import type { ReactElement } from "react";

import { useNowUs } from "@/ui/Time";

import { mutedText, type Muted } from "./mutedText";

/** Until when an incident is muted; nothing if it is not. */
export function MutedBy({ incident }: { incident: Muted }): ReactElement | null {
  const now = useNowUs();
  return incident.muted ? <span title={mutedText(incident, now)}>{mutedText(incident, now, false)}</span> : null;
}
