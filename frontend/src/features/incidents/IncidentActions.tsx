import type { ReactElement, ReactNode } from "react";

import type { Incident } from "@/api/incidents";
import { Button } from "@/ui/Button";

import { MuteMenu } from "./MuteMenu";
import { NeighborLinks } from "./NeighborLinks";
import { useCommands } from "./useCommands";

export function IncidentActions({ incident, children }: { incident: Incident; children?: ReactNode }): ReactElement {
  const commands = useCommands();
  const answerable = incident.state === "open" || incident.state === "acknowledged";
  const active = incident.resolved_at === null;
  return (
    <>
      {answerable && (
        <Button kind={incident.state === "open" ? "primary" : "plain"} shortcut="a" onClick={() => commands.toggleAcknowledge(incident)}>
          {incident.state === "open" ? "Acknowledge" : "Unacknowledge"}
        </Button>
      )}
      {active && <Button onClick={() => commands.resolve(incident)}>Resolve</Button>}
      <MuteMenu incident={incident} />
      {children}
      <NeighborLinks id={incident.id} />
    </>
  );
}
