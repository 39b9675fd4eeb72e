/** Prometheus labels in their usual notation. Pure. */

export type Labels = Readonly<Record<string, string>>;

/** `job="dns", zone="."`, sorted by name. */
export function labelsText(labels: Labels): string {
  return Object.keys(labels)
    .toSorted()
    .map((name) => `${name}="${labels[name] ?? ""}"`)
    .join(", ");
}

/** The labels with the same value in all sets, and each set's other labels. */
export function splitLabels(sets: readonly Labels[]): { common: Labels; own: Labels[] } {
  const [first, ...others] = sets;
  const common = Object.fromEntries(Object.entries(first ?? {}).filter(([name, value]) => others.length > 0 && others.every((other) => other[name] === value)));
  return { common, own: sets.map((labels) => Object.fromEntries(Object.entries(labels).filter(([name]) => !(name in common)))) };
}

/** The unit of a metric's points for `inUnit`: a rate is per second. */
export const unitOf = (unit: string, view: "raw" | "rate" | "quantiles"): string => (view === "rate" ? `${unit}/s` : unit);
