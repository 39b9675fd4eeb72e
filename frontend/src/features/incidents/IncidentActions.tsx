import type { ReactElement, ReactNode } from "react";

import type { Incident } from "@/api/incidents";
import { ActionButton } from "@/ui/ActionButton";
import { usePageCommand } from "@/ui/pageCommands";
import { useRefusal } from "@/widgets/useRefusal";

import { MuteMenu } from "./MuteMenu";
import { NeighborLinks } from "./NeighborLinks";
import { useCommands } from "./useCommands";

export function IncidentActions({ incident, children }: { incident: Incident; children?: ReactNode }): ReactElement {
  const commands = useCommands();
  const refusal = useRefusal("incidents:write");
  const answerable = incident.state === "open" || incident.state === "acknowledged";
  const active = incident.resolved_at === null;
  const toggle = incident.state === "open" ? "Acknowledge" : "Unacknowledge";
  usePageCommand(answerable ? toggle : null, () => commands.toggleAcknowledge(incident));
  usePageCommand(active ? "Resolve" : null, () => commands.resolve(incident));
  return (
    <>
      {answerable && (
        <ActionButton kind={incident.state === "open" ? "primary" : "plain"} shortcut="a" refusal={refusal} onClick={() => commands.toggleAcknowledge(incident)}>
          {toggle}
        </ActionButton>
      )}
      {active && (
        <ActionButton refusal={refusal} onClick={() => commands.resolve(incident)}>
          Resolve
        </ActionButton>
      )}
      <MuteMenu incident={incident} />
      {children}
      <NeighborLinks id={incident.id} />
    </>
  );
}
