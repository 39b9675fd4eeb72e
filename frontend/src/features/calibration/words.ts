/** Names of fixes and figures, and an outcome on a scale where 1 is the value before the fix. Pure. */

import type { PredictionOutcome } from "@/api/verification";
import { sentence } from "@/lib/text";

const FIXES: Record<string, string> = {
  raise_cpu_limit: "Raise the CPU limit",
  gomaxprocs: "GOMAXPROCS",
  cfs_burst: "CFS burst",
  gogc_off_gomemlimit: "GOGC=off with GOMEMLIMIT",
  raise_gomemlimit: "Raise GOMEMLIMIT",
  unset_gomemlimit: "Unset GOMEMLIMIT",
  other: "Another change",
};

export const fixName = (id: string): string => FIXES[id] ?? sentence(id);

export interface Scaled {
  readonly low: number;
  readonly expected: number;
  readonly high: number;
  readonly measured: number;
}

/** Everything relative to the value before the fix, so that milliseconds and shares fit on one axis; relative to the largest value if it was 0. */
export function scaled({ predicted, measured, before }: PredictionOutcome): Scaled {
  const unit = before !== null && before > 0 ? before : Math.max(measured, predicted.high, Number.MIN_VALUE);
  return { low: predicted.low / unit, expected: predicted.expected / unit, high: predicted.high / unit, measured: measured / unit };
}
