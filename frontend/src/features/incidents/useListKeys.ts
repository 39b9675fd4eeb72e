import { useEffect, useEffectEvent } from "react";

import type { IncidentSummary } from "@/api/incidents";
import { plainKey } from "@/lib/keys";

import { useCommands } from "./useCommands";

export interface ListKeys {
  incidents: readonly IncidentSummary[];
  /** -1: none selected yet. */
  current: number;
  onCurrent: (index: number) => void;
  onOpen: (incident: IncidentSummary) => void;
}

/** `j` `k` move, Enter opens, `a` acknowledges, `m` mutes. */
export function useListKeys({ incidents, current, onCurrent, onOpen }: ListKeys): void {
  const commands = useCommands();
  const press = useEffectEvent((event: KeyboardEvent) => {
    const key = plainKey(event);
    if (key === "j") onCurrent(Math.min(incidents.length - 1, current + 1));
    if (key === "k") onCurrent(Math.max(0, current - 1));
    const chosen = incidents[current];
    if (chosen === undefined) return;
    const onControl = event.target instanceof HTMLElement && ["A", "BUTTON"].includes(event.target.tagName);
    if (key === "Enter" && !onControl) onOpen(chosen);
    if (key === "a") commands.toggleAcknowledge(chosen);
    if (key === "m") commands.toggleMute(chosen);
  });
  useEffect(() => {
    const listener = (event: KeyboardEvent): void => press(event);
    window.addEventListener("keydown", listener);
    return () => window.removeEventListener("keydown", listener);
  }, []);
}
