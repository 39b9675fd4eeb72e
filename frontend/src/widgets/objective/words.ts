/** Formats of an objective: "p99<50ms" and "p99 < 50 ms". Pure. */

import type { Objective } from "@/api/objectives";

export const QUANTILES = ["p50", "p90", "p95", "p99", "p99.9"] as const;
export const UNITS = ["ms", "s"] as const;

export interface Draft {
  quantile: (typeof QUANTILES)[number];
  /** As typed. */
  amount: string;
  unit: (typeof UNITS)[number];
}

const EMPTY: Draft = { quantile: "p99", amount: "", unit: "ms" };
const WRITTEN = /^(p50|p90|p95|p99|p99\.9)<([0-9.]+)(ms|s)$/;

/** Initial form values: the objective in effect, in the service's notation. */
export function draftOf(objective: string | null): Draft {
  const [, quantile, amount, unit] = WRITTEN.exec(objective ?? "") ?? [];
  if (amount === undefined) return EMPTY;
  return { quantile: quantile as Draft["quantile"], amount, unit: unit as Draft["unit"] };
}

export const writtenOf = ({ quantile, amount, unit }: Draft): string => `${quantile}<${amount.trim()}${unit}`;

/** Why a draft is not a valid objective; null if it is. */
export function problemOf({ amount, unit }: Draft): string | null {
  const text = amount.trim();
  const value = Number(text);
  if (text === "" || !/^[0-9]+(\.[0-9]{1,3})?$/.test(text)) return "Enter a time such as 50.";
  const ms = unit === "ms" ? value : value * 1000;
  return ms < 1 || ms >= 1_000_000 ? "Enter a time from 1 ms to 999 s." : null;
}

/** "p99<50ms" → "p99 < 50 ms". */
export const readable = (objective: string): string => objective.replace(WRITTEN, "$1 < $2 $3");

/** "50 ms" from "p99<50ms". */
export const limitOf = (objective: string): string => objective.replace(WRITTEN, "$2 $3");

/** "99 %" from "p99". */
export const shareOf = (quantile: string): string => `${quantile.slice(1)} %`;

/** Origin of the objective, without a period. */
export function originOf({ origin, set_by }: Objective): string {
  if (origin === "annotation") return "From the pod's annotation jitterscope.io/objective";
  return `Set for ${origin === "server" ? "this port" : "the whole workload"}${set_by === null ? "" : ` by ${set_by}`}`;
}
