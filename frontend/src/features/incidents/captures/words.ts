/** Texts for captures. Pure. */

import type { CaptureProcess, CaptureSummary } from "@/api/captures";
import { clock, duration } from "@/lib/time";

const REASONS: Readonly<Record<string, string>> = {
  system_cpu: "high kernel CPU",
  late_tick: "late scheduling",
  oom_kill: "OOM kill",
  memory_growth: "memory running out",
  dentry_growth: "negative dentries growing",
  bpf_load: "eBPF programs loaded",
  throttled: "container throttled",
  slow_query: "slow answer",
  slow_request: "slow request",
  accept_backlog: "accept queue filled",
  dns_error: "errors in a DNS server log",
};

const STATES: Readonly<Record<string, string>> = {
  R: "running",
  S: "sleeping",
  D: "uninterruptible sleep",
  I: "idle kernel thread",
  T: "stopped",
  t: "traced",
  Z: "zombie",
  X: "dead",
};

export const reasonWords = (reason: string): string => REASONS[reason] ?? reason.replaceAll("_", " ");

/** "14:02:10, 10 s of the node: high kernel CPU" */
export function captureTitle(capture: CaptureSummary): string {
  const whose = capture.of === "node" ? "the node" : "the subject";
  return `${clock(capture.start_us)}, ${duration(capture.end_us - capture.start_us)} of ${whose}: ${reasonWords(capture.reason)}`;
}

/** The capture that contains a time, or the nearest one; null if there is none. */
export function captureAt(captures: readonly CaptureSummary[], us: number): CaptureSummary | null {
  const distance = (one: CaptureSummary): number => Math.max(one.start_us - us, us - one.end_us, 0);
  return captures.reduce<CaptureSummary | null>((best, one) => (best === null || distance(one) < distance(best) ? one : best), null);
}

/** The most frequent state of a process: "uninterruptible sleep, 3 of 4 times". */
export function stateWords(states: CaptureProcess["states"]): string {
  const seen = Object.entries(states).sort(([, a], [, b]) => b - a);
  const total = seen.reduce((sum, [, times]) => sum + times, 0);
  const [most] = seen;
  if (most === undefined) return "–";
  const name = STATES[most[0]] ?? most[0];
  return seen.length === 1 ? name : `${name}, ${most[1]} of ${total} times`;
}
