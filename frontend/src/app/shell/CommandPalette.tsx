import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Command } from "cmdk";
import { useEffect, useRef, useState, type ReactElement } from "react";

import { incidentsQuery } from "@/api/incidents";
import { meQuery } from "@/api/me";
import { useCommandsOfPage } from "@/ui/pageCommands";
import { setTheme } from "@/ui/theme";
import { stateText } from "@/widgets/Severity";

import styles from "./CommandPalette.module.css";
import { destinationsFor } from "./destinations";
import { PLACEHOLDER } from "./PaletteWaits";
import { ResourceResults } from "./ResourceResults";
import type { TypedAhead } from "./typeAhead";

export interface CommandPaletteProps {
  onOpenChange: (open: boolean) => void;
  /** Text typed before the field had the focus. */
  takeTyped: () => TypedAhead;
}

/** ⌘K: every page, incident, and resource, and the commands without a page. */
export function CommandPalette({ onOpenChange, takeTyped }: CommandPaletteProps): ReactElement {
  return (
    <Command.Dialog open onOpenChange={onOpenChange} label="Search and commands" contentClassName={styles["dialog"]} overlayClassName={styles["overlay"]}>
      <Content onDone={() => onOpenChange(false)} takeTyped={takeTyped} />
    </Command.Dialog>
  );
}

function Content({ onDone, takeTyped }: { onDone: () => void; takeTyped: () => TypedAhead }): ReactElement {
  const navigate = useNavigate();
  const [text, setText] = useState("");
  const input = useRef<HTMLInputElement>(null);
  const [moves, setMoves] = useState<readonly string[]>([]);
  const start = (): void => {
    const typed = takeTyped();
    if (typed.text !== "") setText(typed.text);
    if (typed.keys.length > 0) setMoves(typed.keys);
  };
  // Once the results for the text are there.
  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      for (const key of moves) input.current?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    });
    return () => cancelAnimationFrame(frame);
  }, [moves]);
  const { data: me } = useQuery(meQuery());
  const { data } = useInfiniteQuery(incidentsQuery({ state: "all" }));
  const incidents = data?.pages[0]?.items ?? [];
  const run = (action: () => unknown) => () => {
    onDone();
    action();
  };
  return (
    <>
      <Command.Input ref={input} className={styles["input"]} placeholder={PLACEHOLDER} onFocus={start} value={text} onValueChange={setText} />
      <Command.List className={styles["list"]}>
        <Command.Empty className={styles["empty"]}>No results. Try a pod, a cgroup path or a cause.</Command.Empty>
        <Command.Group heading="Incidents">
          {incidents.slice(0, 30).map((incident) => (
            <Command.Item
              key={incident.id}
              className={styles["tall"]}
              value={`incident ${incident.id} ${incident.title} ${incident.subject.name} ${incident.cause}`}
              onSelect={run(() => navigate({ to: "/incidents/$incidentId", params: { incidentId: incident.id } }))}
            >
              <span>{incident.title}</span>
              {/* The same fault of two pods has the same title. */}
              <small>
                {incident.subject.name} · {stateText(incident.state)}
              </small>
            </Command.Item>
          ))}
        </Command.Group>
        <PageCommands onChoose={(command) => run(command)()} />
        <ResourceResults text={text} onChoose={(resourceId) => run(() => navigate({ to: "/resources/$resourceId", params: { resourceId } }))()} />
        <Command.Group heading="Go to">
          {destinationsFor(me?.scopes ?? []).map(({ label, about, open }) => (
            <Command.Item key={label} value={about === undefined ? label : `${label} ${about}`} onSelect={run(() => open(navigate))}>
              <span>{label}</span>
              {about !== undefined && <small>{about}</small>}
            </Command.Item>
          ))}
        </Command.Group>
        <Command.Group heading="Theme">
          <Command.Item onSelect={run(() => setTheme("light"))}>Theme: light</Command.Item>
          <Command.Item onSelect={run(() => setTheme("dark"))}>Theme: dark</Command.Item>
          <Command.Item onSelect={run(() => setTheme("system"))}>Theme: system</Command.Item>
        </Command.Group>
      </Command.List>
    </>
  );
}

/** Commands of the current page. */
function PageCommands({ onChoose }: { onChoose: (run: () => void) => void }): ReactElement | null {
  const commands = useCommandsOfPage();
  if (commands.length === 0) return null;
  return (
    <Command.Group heading="This page">
      {commands.map(({ title, run }) => (
        <Command.Item key={title} onSelect={() => onChoose(run)}>
          {title}
        </Command.Item>
      ))}
    </Command.Group>
  );
}
