import { useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useState, type ReactElement } from "react";

import type { Incident } from "@/api/incidents";
import { DURATIONS } from "@/api/mutes";
import { ActionButton } from "@/ui/ActionButton";
import { Button } from "@/ui/Button";
import { Menu } from "@/ui/Menu";
import { usePageCommand } from "@/ui/pageCommands";
import { useToast } from "@/ui/Toast";
import { useRefusal } from "@/widgets/useRefusal";

import { useCommands } from "./useCommands";

const MuteDialog = lazy(async () => ({ default: (await import("./MuteDialog")).MuteDialog }));

/** Mutes for a preset time, or with a scope, an end, and a reason. */
export function MuteMenu({ incident }: { incident: Incident }): ReactElement {
  const commands = useCommands();
  const navigate = useNavigate();
  const toast = useToast();
  const refusal = useRefusal("incidents:write");
  const [asked, setAsked] = useState(false);
  const byRule = incident.mute !== null && !incident.mute.only_this;
  const toMutes = (): void => void navigate({ to: "/settings/$section", params: { section: "mutes" } });
  usePageCommand(!incident.muted ? "Mute for 1 h" : byRule ? null : "Unmute", () => commands.toggleMute(incident));
  usePageCommand("Mute with a reason, an end, or a wider scope", () => (refusal === null ? setAsked(true) : toast({ text: refusal })));
  return (
    <>
      {incident.muted ? (
        byRule ? (
          <Button onClick={toMutes}>Go to mutes</Button>
        ) : (
          <ActionButton shortcut="m" refusal={refusal} onClick={() => commands.toggleMute(incident)}>
            Unmute
          </ActionButton>
        )
      ) : refusal !== null ? (
        <ActionButton shortcut="m" refusal={refusal}>
          Mute
        </ActionButton>
      ) : (
        <Menu trigger={<Button shortcut="m">Mute</Button>}>
          {({ MenuItem, MenuLabel, MenuSeparator }) => (
            <>
              <MenuLabel>This incident</MenuLabel>
              {DURATIONS.map(([title, hours]) => (
                <MenuItem key={title} onSelect={() => commands.muteFor(incident, title, hours)}>
                  {title}
                </MenuItem>
              ))}
              <MenuSeparator />
              <MenuItem onSelect={() => setAsked(true)}>With a reason, an end, or a wider scope…</MenuItem>
            </>
          )}
        </Menu>
      )}
      <Suspense>{asked && <MuteDialog incident={incident} onOpenChange={setAsked} />}</Suspense>
    </>
  );
}
