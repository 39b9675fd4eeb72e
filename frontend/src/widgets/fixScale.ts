/** The scale that all fixes of a finding share. Pure. */

import type { Schemas } from "@/api/client";

type Fix = Schemas["Fix"];

export const VERDICTS: Record<Fix["verdict"], { mark: string; text: string }> = {
  removes: { mark: "✓", text: "Removes it." },
  reduces: { mark: "◐", text: "Reduces it." },
  cannot_help: { mark: "✕", text: "Cannot help." },
  unknown: { mark: "?", text: "Effect not known." },
};

export interface FixScale {
  /** Which share is predicted: of answers, or of periods where no latency is known. */
  readonly of: "slow" | "throttled";
  readonly now: number;
  readonly max: number;
}

export function predictionOf(fix: Fix, of: FixScale["of"]): Schemas["Interval"] | null {
  return of === "slow" ? fix.predicted_slow_ratio : fix.predicted_throttled_ratio;
}

/** null where nothing is predicted. */
export function scaleOf(fixes: readonly Fix[], impact: Schemas["Impact"]): FixScale | null {
  for (const of of ["slow", "throttled"] as const) {
    const now = of === "slow" ? impact.slow_ratio : impact.throttled_ratio;
    const highs = fixes.map((fix) => predictionOf(fix, of)?.high).filter((high) => high !== undefined);
    if (now === null || highs.length === 0) continue;
    return { of, now, max: Math.max(now, ...highs, 1e-6) * 1.04 };
  }
  return null;
}

/** The summary without a verdict at its start: the verdict stands before it already. */
export function reasonOf(fix: Fix): string {
  const reason = fix.summary.replace(/^cannot help( enough)?: */i, "");
  return reason.charAt(0).toUpperCase() + reason.slice(1);
}
