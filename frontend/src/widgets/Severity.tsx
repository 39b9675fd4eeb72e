import type { ReactElement } from "react";

import type { Schemas } from "@/api/client";
import { Chip } from "@/ui/Chip";

type Severity = Schemas["IncidentSummary"]["severity"];
type State = Schemas["IncidentSummary"]["state"];

/** Severity by shape and word; the color is redundant. */
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
  did_not_help: "fix did not help",
  made_worse: "fix made it worse",
  verified: "fix verified",
  resolved: "resolved",
  not_known: "not known any more",
};

const MARKS: Partial<Record<State, string>> = { fix_applied: "◔", verified: "✓", resolved: "✓", did_not_help: "✕", made_worse: "▲", not_known: "?" };

/** The state in words, with a mark for the outcome of a fix. */
export const stateText = (state: State): string => [MARKS[state], STATES[state]].filter(Boolean).join(" ");

export function StateChip({ state }: { state: State }): ReactElement {
  const tone = state === "verified" || state === "resolved" ? "ok" : state === "made_worse" ? "hot" : "neutral";
  return <Chip tone={tone}>{stateText(state)}</Chip>;
}
