/** How a prediction for memory reads. */

import type { MemoryPrediction } from "@/api/whatifMemory";
import { bytes, joinRange, significant } from "@/lib/format";

const SECONDS = (value: number): string => `${significant(value, 2)} s`;

/** "killed after 1.8 to 2.5 s", "survives". */
export function outcomeText(prediction: MemoryPrediction): string {
  const { outcome, seconds_to_oom: seconds } = prediction;
  if (outcome === "survives") return "survives";
  const after = seconds === null ? "" : ` after ${joinRange(SECONDS(seconds.low), SECONDS(seconds.high))}`;
  return outcome === "killed" ? `killed${after}` : `may be killed${after === "" ? "" : `, at the earliest${after}`}`;
}

/** "84 to 190 MiB", "without end". */
export function peakText({ peak_bytes: peak }: MemoryPrediction): string {
  return peak === null ? "without end" : joinRange(bytes(peak.low), bytes(peak.high));
}
