import { oneOf, optionalNumber } from "@/lib/search";
import { US_PER_S } from "@/lib/time";

/** A comparison in the URL. */
export interface CompareSearch {
  resource?: number | undefined;
  /** The window, µs. */
  from?: number | undefined;
  to?: number | undefined;
  /** The other resource; absent: the same. */
  other?: number | undefined;
  /** How much earlier the other window is, in seconds; absent: an hour, or 0 if another resource is chosen. */
  ago?: number | undefined;
  mode?: "overlaid" | undefined;
}

export const AGO_S = [600, 3600, 86_400, 604_800] as const;
const DEFAULT_AGO_S = 3600;

export function compareSearch(search: Record<string, unknown>): CompareSearch {
  return {
    resource: optionalNumber(search["resource"]),
    from: optionalNumber(search["from"]),
    to: optionalNumber(search["to"]),
    other: optionalNumber(search["other"]),
    ago: optionalNumber(search["ago"]),
    mode: oneOf(search["mode"], ["overlaid"]),
  };
}

export const agoS = ({ other, ago }: CompareSearch): number => ago ?? (other === undefined ? DEFAULT_AGO_S : 0);

/** Start of the other window, µs; null if the link is incomplete. */
export const otherFromUs = (search: CompareSearch): number | null => (search.from === undefined ? null : Math.round(search.from - agoS(search) * US_PER_S));
