/** Server-sent events: changed data is refetched at once. */

import { type QueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";

import { analysisKeys } from "./analyses";
import { incidentKeys } from "./incidents";
import { overviewKeys } from "./overview";

let live = false;
const listeners = new Set<() => void>();

function setLive(next: boolean): void {
  if (next === live) return;
  live = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Whether live updates are connected. */
export function useLive(): boolean {
  return useSyncExternalStore(subscribe, () => live);
}

const AGAIN_MS = 5_000;
const AGAIN_AT_MOST_MS = 60_000;

/** Listens until the returned function is called. */
export function listen(client: QueryClient): () => void {
  let source: EventSource;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let waitMs = AGAIN_MS;
  let wasReady = false;

  function open(): void {
    source = new EventSource("/api/v1/events/stream", { withCredentials: true });
    source.addEventListener("ready", () => {
      waitMs = AGAIN_MS;
      setLive(true);
      // After a gap, anything might have changed.
      if (wasReady) void client.invalidateQueries();
      wasReady = true;
    });
    source.addEventListener("incident", (event: MessageEvent<string>) => {
      const id = idOf(event.data);
      void client.invalidateQueries({ queryKey: incidentKeys.lists });
      void client.invalidateQueries({ queryKey: ["risks"] });
      void client.invalidateQueries({ queryKey: overviewKeys.all });
      if (id !== null) void client.invalidateQueries({ queryKey: incidentKeys.one(id) });
    });
    for (const type of ["collector", "first_data"]) {
      source.addEventListener(type, () => {
        void client.invalidateQueries({ queryKey: ["collectors"] });
        void client.invalidateQueries({ queryKey: overviewKeys.all });
        void client.invalidateQueries({ queryKey: ["resources"] });
      });
    }
    source.addEventListener("analysis", (event: MessageEvent<string>) => {
      const id = idOf(event.data);
      void client.invalidateQueries({ queryKey: analysisKeys.list });
      if (id !== null) void client.invalidateQueries({ queryKey: analysisKeys.one(id) });
    });
    source.addEventListener("error", () => {
      setLive(false);
      // The browser reconnects after a broken stream, but gives up on a response such as 429 or 503.
      if (source.readyState !== EventSource.CLOSED) return;
      retry = setTimeout(open, waitMs);
      waitMs = Math.min(2 * waitMs, AGAIN_AT_MOST_MS);
    });
  }

  open();
  return () => {
    clearTimeout(retry);
    source.close();
    setLive(false);
  };
}

function idOf(data: string): number | null {
  try {
    const message: unknown = JSON.parse(data);
    const id = typeof message === "object" && message !== null && "id" in message ? message.id : null;
    return typeof id === "number" ? id : null;
  } catch {
    return null;
  }
}
