import type { ReactElement } from "react";

import type { Schemas } from "@/api/client";
import { Chip } from "@/ui/Chip";

type Severity = Schemas["IncidentSummary"]["severity"];
type State = Schemas["IncidentSummary"]["state"];

/** Severity by shape and word; colour only repeats it. */
export function SeverityChip({ severity }: { severity: Severity }): ReactElement {
  switch (severity) {
    case "critical":
      return <Chip tone="hotSolid">▲ critical</Chip>;
    case "warning":
      return <Chip tone="hot">△ warning</Chip>;
    case "info":
      return <Chip tone="dim">○ info</Chip>;
  }
}

const STATES: Record<State, string> = {
  open: "open",
  acknowledged: "acknowledged",
  fix_applied: "fix applied, measuring",
  verified: "fix verified",
  resolved: "resolved",
};

export function StateChip({ state }: { state: State }): ReactElement {
  const done = state === "verified" || state === "resolved";
  return <Chip tone={done ? "ok" : "neutral"}>{done ? `✓ ${STATES[state]}` : STATES[state]}</Chip>;
}
