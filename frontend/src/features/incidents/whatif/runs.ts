/** Recorded and simulated columns as runs for charts. Pure. */

import type { Run } from "@/charts/compare/run";
import type { Stall, TimelineModel } from "@/charts/timeline/model";
import type { Setting, WhatIf, WhatIfTimeline } from "@/api/whatif";
import type { TimeView } from "@/lib/timeView";

import { changeText, difference, valueText } from "./setting";

const numbers = (values: readonly (number | null)[]): Float64Array => Float64Array.from(values, (value) => value ?? NaN);

/** Consecutive throttled ticks are one span. */
function throttledSpans(tUs: readonly number[], stepUs: number, throttledUs: readonly (number | null)[]): Stall[] {
  const spans: Stall[] = [];
  tUs.forEach((fromUs, index) => {
    const stoppedUs = throttledUs[index] ?? 0;
    if (stoppedUs <= 0) return;
    const before = spans.at(-1);
    if (before?.toUs === fromUs) spans[spans.length - 1] = { ...before, toUs: fromUs + stepUs, stoppedUs: before.stoppedUs + stoppedUs, periods: before.periods + 1 };
    else spans.push({ fromUs, toUs: fromUs + stepUs, stoppedUs, periods: 1 });
  });
  return spans;
}

function modelOf(columns: WhatIfTimeline, setting: Setting, extent: TimeView, slowThresholdUs: number): TimelineModel {
  const tUs = Float64Array.from(columns.t_us);
  const none = new Float64Array(tUs.length).fill(NaN);
  const spans = throttledSpans(columns.t_us, columns.step_us, columns.throttled_us);
  return {
    extent,
    served: [],
    cpu: { tUs, stepUs: columns.step_us, tickUs: columns.step_us, cpus: numbers(columns.cpu_ratio), means: null },
    coarse: null,
    limits: [{ fromUs: extent.fromUs, cpus: setting.cpu_limit }],
    throttled: spans,
    gc: columns.gc.map(([fromUs = NaN, toUs = NaN]) => ({ fromUs, toUs, label: "GC", attributes: {} })),
    answers: {
      tUs: new Float64Array(), latencyUs: new Float64Array(), logLatency: new Float32Array(), result: new Uint8Array(), queueWaitUs: null,
      name: new Uint32Array(), names: [], complete: [], truncated: 0,
    },
    rate: { tUs, stepUs: columns.step_us, queries: none, slow: none, p50Us: none, maxUs: numbers(columns.latency_max_us) },
    connections: null,
    childLimits: [],
    errors: [],
    lanes: [],
    marks: [],
    slowThresholdUs,
    notes: [],
  };
}

/** Recorded first, then simulated; null if the result has no chart. */
export function runsOf(answer: WhatIf, extent: TimeView): Run[] {
  const { recorded, predictions, slow_threshold_us: slowUs } = answer;
  const runs: Run[] = [];
  const { setting } = recorded;
  const limit = `CPU limit ${valueText("cpu_limit", setting.cpu_limit)}`;
  if (recorded.timeline !== null) runs.push({ title: `Recorded, ${limit}`, model: modelOf(recorded.timeline, setting, extent, slowUs) });
  const [prediction] = predictions;
  if (prediction?.timeline != null) {
    const tried = changeText(difference(setting, prediction.setting));
    runs.push({
      title: tried === "" ? "What if: no change (the model on the recording)" : `What if: ${tried}`,
      model: modelOf(prediction.timeline, prediction.setting, extent, slowUs),
    });
  }
  return runs;
}
