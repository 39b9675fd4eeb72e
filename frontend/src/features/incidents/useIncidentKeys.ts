import { useNavigate } from "@tanstack/react-router";
import { useEffect, useEffectEvent } from "react";

import type { Incident } from "@/api/incidents";
import { plainKey } from "@/lib/keys";

import { useCommands } from "./useCommands";
import { useCopyPatch } from "./useCopyPatch";
import { useNeighbors } from "./useNeighbors";

/** `[` `]`: previous, next incident; `a` acknowledges; `m` mutes; `c` copies the first patch that can help. */
export function useIncidentKeys(incident: Incident): void {
  const navigate = useNavigate();
  const commands = useCommands();
  const copyPatch = useCopyPatch(incident);
  const { previous, next } = useNeighbors(incident.id);

  const press = useEffectEvent((event: KeyboardEvent) => {
    const key = plainKey(event);
    const to = key === "[" ? previous : key === "]" ? next : null;
    if (to !== null) void navigate({ to: "/incidents/$incidentId", params: { incidentId: to } });
    if (key === "a") commands.toggleAcknowledge(incident);
    if (key === "m") commands.toggleMute(incident);
    if (key === "c") copyPatch();
  });

  useEffect(() => {
    const listener = (event: KeyboardEvent): void => press(event);
    window.addEventListener("keydown", listener);
    return () => window.removeEventListener("keydown", listener);
  }, []);
}
