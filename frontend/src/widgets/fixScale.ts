/** The common scale of a finding's fixes. Pure. */

import type { Schemas } from "@/api/client";

type Fix = Schemas["Fix"];

export const VERDICTS: Record<Fix["verdict"], { mark: string; text: string }> = {
  removes: { mark: "✓", text: "Removes it." },
  reduces: { mark: "◐", text: "Reduces it." },
  cannot_help: { mark: "✕", text: "Cannot help." },
  unknown: { mark: "?", text: "Effect unknown." },
};

export interface FixScale {
  /** ID of the predicted measure. */
  readonly of: string;
  /** The counted thing: "slow answers". */
  readonly phrase: string;
  readonly now: number;
  readonly max: number;
}

export const predictionOf = (fix: Fix, of: string): Schemas["Interval"] | null => fix.predicted[of] ?? null;

/** The impact's first share predicted by fixes, with its current value; null if none is predicted. */
export function scaleOf(fixes: readonly Fix[], figures: readonly Schemas["ImpactFigure"][]): FixScale | null {
  for (const { id: of, value: now, phrase } of figures.filter(({ unit }) => unit === "ratio")) {
    const highs = fixes.map((fix) => predictionOf(fix, of)?.high).filter((high) => high !== undefined);
    if (highs.length > 0) return { of, phrase, now, max: Math.max(now, ...highs, 1e-6) * 1.04 };
  }
  return null;
}

/** The summary without its leading verdict, which is shown before it. */
export function reasonOf(fix: Fix): string {
  const reason = fix.summary.replace(/^cannot help( enough)?[:.]? */i, "");
  return reason.charAt(0).toUpperCase() + reason.slice(1);
}
