/** How bad a container's worst 100 ms were, for a cell of the map. Pure. */

import type { FleetContainer } from "@/api/fleet";
import { namesOf, tickTime } from "@/lib/container";
import { cpus, microseconds, percent } from "@/lib/format";

/** From the worst to unknown. `mark` shows it without color. */
export const LEVELS = [
  { id: "heavy", mark: "▲", text: "throttled 50 ms or more in one tick" },
  { id: "light", mark: "△", text: "throttled less" },
  { id: "near", mark: "–", text: "80 % of its limit or more, not throttled" },
  { id: "calm", mark: "", text: "below that, or no CPU limit" },
  { id: "unknown", mark: "?", text: "CPU not measured" },
] as const;

export type Level = (typeof LEVELS)[number]["id"];

const HEAVY_US = 50_000;
const NEAR = 0.8;

export function levelOf({ worst_tick: worst, cpu_peak: peak, cpu_limit: limit }: Pick<FleetContainer, "worst_tick" | "cpu_peak" | "cpu_limit">): Level {
  if (worst !== null) return worst.throttled_us >= HEAVY_US ? "heavy" : "light";
  if (peak === null) return "unknown";
  return limit !== null && peak >= NEAR * limit ? "near" : "calm";
}

/** The cell in words: which container, how bad, and when. */
export function cellText(container: FleetContainer, nowUs: number): string {
  const { main, detail } = namesOf(container);
  const { worst_tick: worst, cpu_peak: peak, cpu_limit: limit } = container;
  const who = `${main}${detail === "" ? "" : `, ${detail}`} on ${container.node.name}`;
  if (worst !== null) return `${who}: throttled ${microseconds(worst.throttled_us)} in its worst tick, ${tickTime(worst, nowUs, "local")}`;
  if (peak === null) return `${who}: CPU not measured`;
  const share = limit === null ? "no limit known" : `${percent(peak / limit)} of its limit of ${cpus(limit)}`;
  return `${who}: highest 100 ms ${cpus(peak)}, ${share}${container.throttled_us === null ? "; throttling not measured" : ""}`;
}

export interface Group {
  name: string;
  containers: readonly FleetContainer[];
}

/** Groups and their containers are sorted by name, so that a container keeps its place while figures change. */
export function groupsOf(containers: readonly FleetContainer[], by: "node" | "namespace"): Group[] {
  const found = new Map<string, FleetContainer[]>();
  for (const one of containers) {
    // Two nodes can have the same name.
    const key = by === "node" ? `${one.node.name}\n${one.node.id}` : (one.namespace ?? "");
    found.set(key, [...(found.get(key) ?? []), one]);
  }
  return [...found.entries()]
    .toSorted(([a], [b]) => Number(a === "") - Number(b === "") || a.localeCompare(b))
    .map(([key, own]) => ({
      name: key === "" ? "No namespace" : (key.split("\n")[0] ?? key),
      containers: own.toSorted((a, b) => a.name.localeCompare(b.name) || a.id - b.id),
    }));
}
