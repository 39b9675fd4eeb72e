/** The sentences of Home: what is wrong now, and how much of the fleet is covered. Pure. */

import type { Change } from "@/api/changes";
import type { Fleet, FleetContainer } from "@/api/fleet";
import type { Overview } from "@/api/overview";
import type { Collectors } from "@/api/resources";
import { count, cpus, microseconds, plural } from "@/lib/format";

/** "2 critical, 1 warning"; null: no incident is open. */
export function openText({ counts }: Pick<Overview, "counts">): string | null {
  return counts.length === 0 ? null : counts.map(({ severity, incidents }) => `${count(incidents)} ${severity}`).join(", ");
}

export const openCount = ({ counts }: Pick<Overview, "counts">): number => counts.reduce((sum, { incidents }) => sum + incidents, 0);

/** How many containers have timed answers: without them, harm to clients cannot be measured. */
export function coverageText({ compared, found, timed, timed_is_least: isLeast }: Pick<Fleet, "compared" | "found" | "timed" | "timed_is_least">): string {
  if (compared === 0) return "No containers were seen in the last 5 min.";
  const all = compared < found ? `the ${count(compared)} containers checked (${count(found)} seen)` : plural(compared, "container");
  const least = isLeast ? "at least " : "";
  if (timed === 0 && !isLeast) return `Answers of 0 of ${all} were timed in the last hour: harm to clients is not measured.`;
  if (timed >= compared && compared === 1) return "Answers of the only container were timed in the last hour.";
  if (timed >= compared) return `Answers of all ${all} were timed in the last hour.`;
  return `Answers of ${least}${count(timed)} of ${all} were timed in the last hour. For the others, harm to clients is not measured.`;
}

/** "Watching 18 containers. Worst 100 ms of the last hour: 42 ms throttled in", then the container; null: no containers. */
export function watchingText({ compared, found, containers }: Pick<Fleet, "compared" | "found" | "containers">): { text: string; container: FleetContainer | null } | null {
  if (compared === 0) return null;
  const lead = `Watching ${plural(found, "container")}.`;
  const scope = compared < found ? ` in the ${count(compared)} checked` : "";
  const [first] = containers;
  if (first !== undefined && first.worst_tick !== null) return { text: `${lead} Worst 100 ms of the last hour${scope}: ${microseconds(first.worst_tick.throttled_us)} throttled in`, container: first };
  const highest = containers.toSorted((a, b) => (b.cpu_peak ?? -1) - (a.cpu_peak ?? -1))[0];
  // Containers that are not listed might have a higher peak.
  if (highest === undefined || highest.cpu_peak === null || containers.length < compared) return { text: lead, container: null };
  return { text: `${lead} Highest 100 ms of the last hour${scope}: ${cpus(highest.cpu_peak)} in`, container: highest };
}

/** "1 of 3 collectors is silent: nothing is measured now on its node."; empty: all report. */
export function silenceText({ found, silent }: Pick<Collectors, "found" | "silent">): string {
  if (silent === 0) return "";
  if (silent === found) return `${silent === 1 ? "The only collector is silent" : `All ${count(silent)} collectors are silent`}: nothing is measured now.`;
  return `${count(silent)} of ${plural(found, "collector")} ${silent === 1 ? "is" : "are"} silent: nothing is measured now on ${silent === 1 ? "its node" : "their nodes"}.`;
}

/** "Whether 2 incidents of silent nodes go on is not known."; empty: there are none. */
export function notKnownText({ not_known: ended }: Pick<Overview, "not_known">): string {
  if (ended === 0) return "";
  return `Whether ${plural(ended, "incident")} of ${ended === 1 ? "a silent node goes" : "silent nodes go"} on is not known.`;
}

/** "3 of 18 containers were throttled in the last hour. Throttling is not measured in 2 others." */
export function throttledText({ compared, throttled, unmeasured }: Pick<Fleet, "compared" | "throttled" | "unmeasured">): string {
  const known = compared - unmeasured;
  if (known === 0) return `Throttling is not measured in any of ${plural(compared, "container")}.`;
  const gap = unmeasured === 0 ? "" : ` Throttling is not measured in ${plural(unmeasured, "other", "others")}.`;
  return `${count(throttled)} of ${plural(known, "container")} ${throttled === 1 ? "was" : "were"} throttled in the last hour.${gap}`;
}

/** How a change that collectors saw was made; null for what happened to a node: nobody made it. */
export function wayText({ kind, rollout, resource }: Pick<Change, "kind" | "rollout" | "resource">): string | null {
  if (rollout) return resource?.kind === "process" ? "restart" : "rollout";
  if (kind === "scale") return "scaled";
  return kind === "other" ? null : "in place";
}
