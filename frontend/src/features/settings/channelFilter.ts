/** What a channel is for, as its form holds it and as people read it. Pure. */

import type { Channel, ChannelAction, ChannelFilter, QuietHours } from "@/api/settings";

export const SEVERITIES: readonly Channel["min_severity"][] = ["info", "warning", "critical"];

/** Every message by its action, in the order in which they come. */
export const ACTION_TITLES: Readonly<Record<Exclude<ChannelAction, "test">, string>> = {
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
  noted: "Note",
};
export const ACTIONS = Object.keys(ACTION_TITLES) as readonly (keyof typeof ACTION_TITLES)[];
/** What a new channel is sent, like the default of the API. */
export const USUAL_ACTIONS: readonly ChannelAction[] = ACTIONS.filter((one) => one !== "unacknowledged" && one !== "noted");

export const DAYS = { mon: "Mon", tue: "Tue", wed: "Wed", thu: "Thu", fri: "Fri", sat: "Sat", sun: "Sun" } as const;
export type Day = keyof typeof DAYS;
export const WEEK = Object.keys(DAYS) as readonly Day[];

const CONDITIONS = ["namespaces", "causes", "resources", "nodes"] as const;
export type Condition = (typeof CONDITIONS)[number];

/** `null` quiet hours: none. Patterns are the text of one input, with commas between them. */
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

/** Why the server would refuse it; null where it would not. */
export function problemOf({ patterns, quiet }: FilterForm): string | null {
  for (const one of CONDITIONS) {
    const found = patternsOf(patterns[one]);
    if (found.length > MOST_PATTERNS) return `A list has at most ${MOST_PATTERNS} patterns.`;
    if (found.some((pattern) => pattern.length > LONGEST_PATTERN)) return `A pattern has at most ${LONGEST_PATTERN} characters.`;
  }
  if (quiet === null) return null;
  if (quiet.days.length === 0) return "Quiet hours need a day to begin on.";
  if (quiet.start === "" || quiet.end === "") return "Quiet hours need a time to begin and one to end.";
  if (quiet.days.length === WEEK.length && quiet.start === quiet.end) return "Quiet hours that never end send nothing. Pause the channel instead.";
  return isZone(quiet.time_zone) ? null : `There is no time zone ${quiet.time_zone}.`;
}

function isZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).format(0) !== "";
  } catch {
    return false;
  }
}

const TITLES: Readonly<Record<Condition, string>> = { namespaces: "namespace", causes: "cause", resources: "resource", nodes: "node" };

/** "critical and above in namespace kube-system, cause cpu/* or dns/*". */
export function inWords(channel: Pick<Channel, "min_severity" | "conditions">): string {
  const parts = CONDITIONS.filter((one) => channel.conditions[one].length > 0).map((one) => `${TITLES[one]} ${channel.conditions[one].join(" or ")}`);
  const severity = channel.min_severity === "critical" ? "Critical incidents" : channel.min_severity === "warning" ? "Warning and critical incidents" : "All incidents";
  return severity + (parts.length === 0 ? "" : ` with ${parts.join(", ")}`);
}

/** "Quiet Mon to Fri 22:00 to 07:00, Europe/Berlin; critical incidents are sent." */
export function quietInWords(quiet: QuietHours): string {
  const days = WEEK.filter((one) => quiet.days.includes(one));
  const first = days[0];
  const last = days.at(-1);
  if (first === undefined || last === undefined) return "";
  const inARow = WEEK.indexOf(last) - WEEK.indexOf(first) === days.length - 1;
  const when = days.length === WEEK.length ? "every day" : inARow && days.length > 2 ? `${DAYS[first]} to ${DAYS[last]}` : days.map((one) => DAYS[one]).join(", ");
  return `Quiet ${when} ${quiet.start} to ${quiet.end}, ${quiet.time_zone}${quiet.critical_passes ? ", except for critical incidents" : ""}`;
}
