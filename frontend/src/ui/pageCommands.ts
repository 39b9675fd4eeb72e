/** Commands of the current page other than navigation, for the command palette. */

import { useEffect, useEffectEvent, useSyncExternalStore } from "react";

interface PageCommand {
  readonly title: string;
  readonly run: () => void;
}

let commands: readonly PageCommand[] = [];
const listeners = new Set<() => void>();

function change(next: readonly PageCommand[]): void {
  commands = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Offers a command for as long as the component is mounted; none while the title is null. */
export function usePageCommand(title: string | null, run: () => void): void {
  const latest = useEffectEvent(run);
  useEffect(() => {
    if (title === null) return undefined;
    const command = { title, run: () => latest() };
    change([...commands, command]);
    return () => change(commands.filter((one) => one !== command));
  }, [title]);
}

export function useCommandsOfPage(): readonly PageCommand[] {
  return useSyncExternalStore(subscribe, () => commands);
}
