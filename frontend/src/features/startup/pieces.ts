/** The pieces of a start's chart. Pure. */

import type { PodStart, StartupPart, StartupStack } from "@/api/startup";
import { microseconds, percent } from "@/lib/format";

export interface Piece {
  readonly id: string;
  readonly title: string;
  readonly us: number;
  /** The verifier's part of the piece. */
  readonly verifierUs: number;
}

/** 12.3 s needs one decimal; below 10 s the milliseconds matter. */
export const duration = microseconds;

export const percentileText = (q: number): string => `p${Math.round(q * 100)}`;

/** The verifier's time at a percentile, if pods wait for it. */
function verifierAt(parts: readonly StartupPart[], q: number): number {
  const verifier = parts.find((part) => part.id === "verifier");
  if (verifier === undefined) return 0;
  return q >= 0.99 ? verifier.p99_us : q >= 0.9 ? verifier.p90_us : verifier.p50_us;
}

/** A stack's pieces in the order of a start; the verifier lies inside the sandbox. */
export function piecesOf(stack: StartupStack, parts: readonly StartupPart[]): Piece[] {
  return stack.parts
    .map((piece) => ({
      id: piece.id,
      title: parts.find((part) => part.id === piece.id)?.title ?? piece.id,
      us: piece.us,
      verifierUs: piece.id === "sandbox" ? Math.min(piece.us, verifierAt(parts, stack.q)) : 0,
    }))
    .sort((a, b) => rank(a.id) - rank(b.id));
}

/** The remainder of a start comes first: the scheduler, volumes, and the kubelet's queue. */
const ORDER = ["rest", "cgroup", "sandbox", "container"];
const rank = (id: string): number => ORDER.indexOf(id);

/** Right end of the scale, so that every bar and the objective fit. */
export const scaleEnd = (page: Pick<PodStart, "stacks" | "objective_us">): number => 1.08 * Math.max(page.objective_us, ...page.stacks.map((stack) => stack.start_us));

/** The chart in words, for screen readers. */
export function stackSentence(stack: StartupStack, parts: readonly StartupPart[]): string {
  const listed = piecesOf(stack, parts).map((piece) => `${piece.title} ${duration(piece.us)}${piece.verifierUs > 0 ? ` (${duration(piece.verifierUs)} in the verifier)` : ""}`);
  return `${percentileText(stack.q)}: ${duration(stack.start_us)}. ${listed.join("; ")}.`;
}

/** Phases as a tree, depth first; phases outside the objective come last. */
export function rows(parts: readonly StartupPart[]): { part: StartupPart; depth: number }[] {
  const below = (inside: string | null, depth: number): { part: StartupPart; depth: number }[] =>
    parts.filter((part) => part.inside === inside).flatMap((part) => [{ part, depth }, ...below(part.id, depth + 1)]);
  const all = below(null, 0);
  return [...all.filter((row) => row.part.in_objective), ...all.filter((row) => !row.part.in_objective)];
}

/** The verdict in one sentence. */
export function verdict(page: PodStart): string {
  const { starts } = page;
  if (starts === null) return "No pods started in this window.";
  const late = `${starts.late} of ${starts.starts} pods took more than ${page.objective_us / 1e6} s to start`;
  if (page.verifier?.waits === true) {
    const { command, per_start_us, share_ratio } = page.verifier;
    const share = share_ratio === null ? "" : ` (${percent(share_ratio)})`;
    return `The kernel verifies the programs of ${command} for ${duration(per_start_us)} of each start${share}. ${late}.`;
  }
  return page.missed ? `Objective missed: ${late}.` : `Objective met: ${late}, p99 ${duration(starts.p99_us)}.`;
}
