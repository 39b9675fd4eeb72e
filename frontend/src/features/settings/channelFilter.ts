/** A channel's conditions, as form state and as text. Pure. */

import type { Channel, ChannelAction, ChannelFilter, QuietHours } from "@/api/settings";
import { hoursInWords, hoursProblem, WEEK } from "@/lib/weeklyHours";

export const SEVERITIES: readonly Channel["min_severity"][] = ["info", "warning", "critical"];

/** All messages by action, in order of occurrence. */
export const ACTION_TITLES: Readonly<Record<Exclude<ChannelAction, "test" | "muted">, string>> = {
  opened: "New incident",
  escalated: "Got worse",
  acknowledged: "Acknowledged",
  unacknowledged: "Acknowledgment removed",
  resolved: "Resolved",
  reopened: "Fault returned",
  reclassified: "Cause corrected",
  fix_applied: "Fix applied",
  verified: "Fix verified",
  did_not_help: "Fix did not help",
  made_worse: "Fix made it worse",
  not_known: "Not known any more",
  noted: "Note",
  unmuted: "Mute ended",
};
export const ACTIONS = Object.keys(ACTION_TITLES) as readonly (keyof typeof ACTION_TITLES)[];
/** Messages of a new channel, the same as the API's default. */
export const USUAL_ACTIONS: readonly ChannelAction[] = ACTIONS.filter((one) => one !== "unacknowledged" && one !== "noted");

const CONDITIONS = ["namespaces", "causes", "resources", "nodes"] as const;
export type Condition = (typeof CONDITIONS)[number];

/** `null` quiet hours: none. Patterns are the text of one input, separated by commas. */
export interface FilterForm {
  readonly severity: Channel["min_severity"];
  readonly actions: readonly ChannelAction[];
  readonly patterns: Readonly<Record<Condition, string>>;
  readonly quiet: QuietHours | null;
}

export const NEW_FILTER: FilterForm = {
  severity: "warning",
  actions: USUAL_ACTIONS,
  patterns: { namespaces: "", causes: "", resources: "", nodes: "" },
  quiet: null,
};

export const newQuietHours = (timeZone: string): QuietHours => ({ days: [...WEEK], start: "22:00", end: "07:00", time_zone: timeZone, critical_passes: true });

export function formOf(channel: Pick<Channel, "min_severity" | "actions" | "conditions" | "quiet_hours">): FilterForm {
  const { conditions } = channel;
  const text = (one: Condition): string => conditions[one].join(", ");
  return {
    severity: channel.min_severity,
    actions: ACTIONS.filter((one) => channel.actions.includes(one)),
    patterns: { namespaces: text("namespaces"), causes: text("causes"), resources: text("resources"), nodes: text("nodes") },
    quiet: channel.quiet_hours,
  };
}

export function filterOf(form: FilterForm): ChannelFilter {
  const { namespaces, causes, resources, nodes } = form.patterns;
  return {
    min_severity: form.severity,
    actions: [...form.actions],
    conditions: { namespaces: patternsOf(namespaces), causes: patternsOf(causes), resources: patternsOf(resources), nodes: patternsOf(nodes) },
    quiet_hours: form.quiet,
  };
}

/** "kube-system, monitoring-*" → both, each once. */
export function patternsOf(text: string): string[] {
  return [...new Set(text.split(",").map((one) => one.trim()).filter((one) => one !== ""))];
}

const MOST_PATTERNS = 20;
const LONGEST_PATTERN = 200;

/** Why the server would refuse the patterns; null if it would not. */
export function patternsProblem(patterns: FilterForm["patterns"]): string | null {
  for (const one of CONDITIONS) {
    const found = patternsOf(patterns[one]);
    if (found.length > MOST_PATTERNS) return `A list has at most ${MOST_PATTERNS} patterns.`;
    if (found.some((pattern) => pattern.length > LONGEST_PATTERN)) return `A pattern has at most ${LONGEST_PATTERN} characters.`;
  }
  return null;
}

/** Why the server would refuse the filter; null if it would not. */
export function problemOf({ patterns, quiet }: FilterForm): string | null {
  const problem = patternsProblem(patterns);
  if (problem !== null || quiet === null) return problem;
  return hoursProblem(quiet, "Quiet hours", "Quiet hours that never end send nothing. Pause the channel instead.");
}

const TITLES: Readonly<Record<Condition, string>> = { namespaces: "namespace", causes: "cause", resources: "resource", nodes: "node" };

/** "namespace kube-system", "cause cpu/* or dns/*". */
export const conditionsInWords = (conditions: Channel["conditions"]): string[] =>
  CONDITIONS.filter((one) => conditions[one].length > 0).map((one) => `${TITLES[one]} ${conditions[one].join(" or ")}`);

/** "critical and above in namespace kube-system, cause cpu/* or dns/*". */
export function inWords(channel: Pick<Channel, "min_severity" | "conditions">): string {
  const parts = conditionsInWords(channel.conditions);
  const severity = channel.min_severity === "critical" ? "Critical incidents" : channel.min_severity === "warning" ? "Warning and critical incidents" : "All incidents";
  return severity + (parts.length === 0 ? "" : ` with ${parts.join(", ")}`);
}

/** "Quiet Mon to Fri 22:00 to 07:00, Europe/Berlin; critical incidents are sent." */
export const quietInWords = (quiet: QuietHours): string => `Quiet ${hoursInWords(quiet)}${quiet.critical_passes ? ", except for critical incidents" : ""}`;
