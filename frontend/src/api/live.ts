/** Server-sent events: what changed is fetched again, at once. */

import { type QueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";

import { analysisKeys } from "./analyses";
import { incidentKeys } from "./incidents";

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

/** Whether changes arrive by themselves now. */
export function useLive(): boolean {
  return useSyncExternalStore(subscribe, () => live);
}

/** A browser gives a stream up for good where the answer is an error, as it is while the service lacks something. */
const AGAIN_MS = 5_000;

/** Listens until the returned function is called. The browser reconnects by itself after a cut connection. */
export function listen(client: QueryClient): () => void {
  let wasReady = false;
  let again: ReturnType<typeof setTimeout> | undefined;
  let source = connect();
  return () => {
    clearTimeout(again);
    source.close();
    setLive(false);
  };

  function connect(): EventSource {
    const opened = open(client, () => {
      setLive(true);
      // After a gap anything may have changed.
      if (wasReady) void client.invalidateQueries();
      wasReady = true;
    });
    opened.addEventListener("error", () => {
      setLive(false);
      if (opened.readyState !== EventSource.CLOSED) return;
      clearTimeout(again);
      again = setTimeout(() => {
        source = connect();
      }, AGAIN_MS);
    });
    return opened;
  }
}

function open(client: QueryClient, onReady: () => void): EventSource {
  const source = new EventSource("/api/v1/events/stream", { withCredentials: true });
  source.addEventListener("ready", onReady);
  source.addEventListener("incident", (event: MessageEvent<string>) => {
    const id = idOf(event.data);
    void client.invalidateQueries({ queryKey: incidentKeys.lists });
    void client.invalidateQueries({ queryKey: ["risks"] });
    if (id !== null) void client.invalidateQueries({ queryKey: incidentKeys.one(id) });
  });
  for (const type of ["collector", "first_data"]) {
    source.addEventListener(type, () => {
      void client.invalidateQueries({ queryKey: ["collectors"] });
      void client.invalidateQueries({ queryKey: ["resources"] });
    });
  }
  source.addEventListener("analysis", (event: MessageEvent<string>) => {
    const id = idOf(event.data);
    void client.invalidateQueries({ queryKey: analysisKeys.list });
    if (id !== null) void client.invalidateQueries({ queryKey: analysisKeys.one(id) });
  });
  return source;
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
