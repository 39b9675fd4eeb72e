import type { IncidentSummary } from "@/api/incidents";
import { parseUs, shortWhen } from "@/lib/time";

export type Muted = Pick<IncidentSummary, "muted" | "muted_until" | "mute">;

/** "muted until 18:00 by Ada: load test"; without `whole`, only until when. Pure. */
export function mutedText({ muted_until: until, mute }: Muted, nowUs: number, whole = true): string {
  const time = until === null ? "" : ` until ${shortWhen(parseUs(until), nowUs)}`;
  return mute === null || !whole ? `muted${time}` : `muted${time} by ${mute.by}: ${mute.reason}`;
}
