import { useSyncExternalStore, type ReactElement } from "react";

import { ago, bothZones, parseUs, shortWhen } from "@/lib/time";

let nowUs = Date.now() * 1000;
const listeners = new Set<() => void>();
setInterval(() => {
  nowUs = Date.now() * 1000;
  for (const listener of listeners) listener();
}, 5000);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The wall clock, refreshed every 5 s for all components that show it. */
export function useNowUs(): number {
  return useSyncExternalStore(subscribe, () => nowUs);
}

/** A time as "6 min ago" or "14:02", with local and UTC time in its tooltip. */
export function Time({ at, style = "ago" }: { at: string; style?: "ago" | "clock" }): ReactElement {
  const now = useNowUs();
  const us = parseUs(at);
  return (
    <time dateTime={at} title={bothZones(us)}>
      {style === "ago" ? ago(us, now) : shortWhen(us, now)}
    </time>
  );
}
