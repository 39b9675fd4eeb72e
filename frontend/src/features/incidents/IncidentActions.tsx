import type { ReactElement, ReactNode } from "react";

import type { Incident } from "@/api/incidents";
import { Button } from "@/ui/Button";
import { usePageCommand } from "@/ui/pageCommands";

import { MuteMenu } from "./MuteMenu";
import { NeighborLinks } from "./NeighborLinks";
import { useCommands } from "./useCommands";

export function IncidentActions({ incident, children }: { incident: Incident; children?: ReactNode }): ReactElement {
  const commands = useCommands();
  const answerable = incident.state === "open" || incident.state === "acknowledged";
  const active = incident.state !== "resolved" && incident.state !== "verified";
  const toggle = incident.state === "open" ? "Acknowledge" : "Unacknowledge";
  usePageCommand(answerable ? toggle : null, () => commands.toggleAcknowledge(incident));
  usePageCommand(active ? "Resolve" : null, () => commands.resolve(incident));
  return (
    <>
      {answerable && (
        <Button kind={incident.state === "open" ? "primary" : "plain"} shortcut="a" onClick={() => commands.toggleAcknowledge(incident)}>
          {toggle}
        </Button>
      )}
      {active && <Button onClick={() => commands.resolve(incident)}>Resolve</Button>}
      <MuteMenu incident={incident} />
      {children}
      <NeighborLinks id={incident.id} />
    </>
  );
}
