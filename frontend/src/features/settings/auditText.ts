/** An audit entry in words. Pure. */

/** "state: open → acknowledged, reason: noisy"; unset values are left out. */
export function detailText(detail: Readonly<Record<string, unknown>>): string {
  return Object.entries(detail)
    .filter(([, value]) => value !== null && value !== "")
    .map(([name, value]) => `${name.replaceAll("_", " ")}: ${plain(value)}`)
    .join(", ");
}

function plain(value: unknown): string {
  if (value === null) return "none";
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(plain).join(", ");
  if (isChange(value)) return `${plain(value.from)} → ${plain(value.to)}`;
  return JSON.stringify(value);
}

const isChange = (value: unknown): value is { from: unknown; to: unknown } =>
  typeof value === "object" && value !== null && Object.keys(value).toSorted().join() === "from,to";

/** The page of what was acted on; null if it has none of its own. */
export function targetOf(target: string): { readonly kind: "incident" | "resource"; readonly id: number } | null {
  const [, kind, id] = /^(incident|resource) (\d+)$/.exec(target) ?? [];
  return id === undefined ? null : { kind: kind === "incident" ? "incident" : "resource", id: Number(id) };
}
