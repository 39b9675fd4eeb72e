/** Texts for captures. Pure. */

import type { CaptureProcess, CaptureSummary, CaptureWait } from "@/api/captures";
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
  slower_query: "slower answers than usual",
  slow_request: "slow request",
  slower_request: "slower requests than usual",
  accept_backlog: "accept queue filled",
  dns_error: "errors in a DNS server log",
};

/** What a thread waits for in a system call. */
const CALLS: Readonly<Record<string, string>> = {
  futex: "lock or work",
  futex_waitv: "lock or work",
  flock: "file lock",
  epoll_wait: "events",
  epoll_pwait: "events",
  epoll_pwait2: "events",
  poll: "events",
  ppoll: "events",
  select: "events",
  pselect6: "events",
  accept: "connection",
  accept4: "connection",
  connect: "another server",
  recvfrom: "data from a socket",
  recvmsg: "data from a socket",
  recvmmsg: "data from a socket",
  sendto: "room in a socket",
  sendmsg: "room in a socket",
  nanosleep: "timer",
  clock_nanosleep: "timer",
  fsync: "disk",
  fdatasync: "disk",
  msync: "disk",
  wait4: "child process",
  waitid: "child process",
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

/** "stopped" for T */
export const stateName = (state: string): string => STATES[state] ?? state;

/** What a thread waits in: "lock or work (futex)", "running", "page fault or signal". */
export function waitWords({ state, call }: Pick<CaptureWait, "state" | "call">): string {
  if (state === "R" || state === "T" || state === "t") return stateName(state);
  if (call === "") return "page fault or signal";
  if (call === "?") return "not known";
  const what = CALLS[call];
  return what === undefined ? call : `${what} (${call})`;
}

/** The most frequent state of a process: "uninterruptible sleep, 3 of 4 times". */
export function stateWords(states: CaptureProcess["states"]): string {
  const seen = Object.entries(states).sort(([, a], [, b]) => b - a);
  const total = seen.reduce((sum, [, times]) => sum + times, 0);
  const [most] = seen;
  if (most === undefined) return "–";
  const name = stateName(most[0]);
  return seen.length === 1 ? name : `${name}, ${most[1]} of ${total} times`;
}
