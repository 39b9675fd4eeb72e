import { useNavigate } from "@tanstack/react-router";
import { useEffect, useEffectEvent } from "react";

import type { Incident } from "@/api/incidents";
import { plainKey } from "@/lib/keys";
import { useToast } from "@/ui/Toast";

import { useCommands } from "./useCommands";
import { useNeighbors } from "./useNeighbors";

/** `[` `]`: previous, next incident; `a` acknowledges; `m` mutes; `c` copies the first patch that can help. */
export function useIncidentKeys(incident: Incident): void {
  const navigate = useNavigate();
  const commands = useCommands();
  const toast = useToast();
  const { previous, next } = useNeighbors(incident.id);

  const press = useEffectEvent((event: KeyboardEvent) => {
    const key = plainKey(event);
    const to = key === "[" ? previous : key === "]" ? next : null;
    if (to !== null) void navigate({ to: "/incidents/$incidentId", params: { incidentId: to } });
    if (key === "a") commands.toggleAcknowledge(incident);
    if (key === "m") commands.toggleMute(incident);
    if (key === "c") {
      const fix = incident.fixes.find(({ verdict, patches }) => verdict !== "cannot_help" && patches.length > 0);
      const patch = fix?.patches[0];
      if (fix === undefined || patch === undefined) return;
      navigator.clipboard.writeText(patch.text).then(
        () => toast({ text: `Patch copied: ${fix.title}` }),
        () => toast({ text: "The browser blocked the copy. Open the fix and select its text.", tone: "error" }),
      );
    }
  });

  useEffect(() => {
    const listener = (event: KeyboardEvent): void => press(event);
    window.addEventListener("keydown", listener);
    return () => window.removeEventListener("keydown", listener);
  }, []);
}
