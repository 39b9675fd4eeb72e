/** What captures are called. Pure. */

import type { CaptureProcess, CaptureSummary } from "@/api/captures";
import { clock, duration } from "@/lib/time";

const REASONS: Readonly<Record<string, string>> = {
  system_cpu: "the kernel used the CPU",
  late_tick: "nothing could be scheduled in time",
  oom_kill: "a process was killed for lack of memory",
  memory_growth: "memory was running out",
  dentry_growth: "negative dentries grew",
  bpf_load: "eBPF programs were loaded",
  throttled: "a container was throttled",
  slow_query: "an answer was slow",
  accept_backlog: "connections were not accepted",
  dns_error: "a DNS server logged errors",
};

const STATES: Readonly<Record<string, string>> = {
  R: "running",
  S: "sleeping",
  D: "waiting, cannot be interrupted",
  I: "idle kernel thread",
  T: "stopped",
  t: "traced",
  Z: "ended, not collected",
  X: "dead",
};

export const reasonWords = (reason: string): string => REASONS[reason] ?? reason.replaceAll("_", " ");

/** "14:02:10, 10 s of the node: the kernel used the CPU" */
export function captureTitle(capture: CaptureSummary): string {
  const whose = capture.of === "node" ? "the node" : "the subject";
  return `${clock(capture.start_us)}, ${duration(capture.end_us - capture.start_us)} of ${whose}: ${reasonWords(capture.reason)}`;
}

/** The capture that holds a time, else the one nearest to it; null where there is none. */
export function captureAt(captures: readonly CaptureSummary[], us: number): CaptureSummary | null {
  const distance = (one: CaptureSummary): number => Math.max(one.start_us - us, us - one.end_us, 0);
  return captures.reduce<CaptureSummary | null>((best, one) => (best === null || distance(one) < distance(best) ? one : best), null);
}

/** States of a process, the one it was seen in most first: "waiting, cannot be interrupted 3 of 4". */
export function stateWords(states: CaptureProcess["states"]): string {
  const seen = Object.entries(states).sort(([, a], [, b]) => b - a);
  const total = seen.reduce((sum, [, times]) => sum + times, 0);
  const [most] = seen;
  if (most === undefined) return "–";
  const name = STATES[most[0]] ?? most[0];
  return seen.length === 1 ? name : `${name}, ${most[1]} of ${total} times`;
}
