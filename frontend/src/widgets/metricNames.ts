/** The figures that are predicted and verified: what they are called, and in which unit. */

import type { Schemas } from "@/api/client";
import type { MeasureUnit } from "@/lib/format";

export const METRIC_NAMES: Record<Schemas["VerifiedMeasure"]["metric"], { title: string; unit: MeasureUnit }> = {
  throttled_ms_per_min: { title: "Throttled time", unit: "ms/min" },
  throttled_ratio: { title: "Periods throttled", unit: "ratio" },
  slow_ratio: { title: "Slow answers", unit: "ratio" },
  p99_ms: { title: "p99 latency", unit: "ms" },
  gc_cycles_per_min: { title: "GC cycles", unit: "1/min" },
};
