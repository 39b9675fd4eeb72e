/** Changes as marks over a chart: nearby changes share a mark, those outside the view share one at its edge. Pure. */

import { count } from "@/lib/format";
import { clock } from "@/lib/time";
import { span, type TimeView } from "@/lib/timeView";

export interface ChartChange {
  readonly key: string;
  readonly atUs: number;
  readonly text: string;
  /** The changed resource: "shop/cart/cart". */
  readonly what: string;
  /** Source of the report, in words. */
  readonly origin: string;
  /** The resource of the change, for a query of several resources. */
  readonly of: readonly number[];
}

export interface ChangeMark {
  /** From 0, the left edge of the view, to 1. */
  readonly at: number;
  /** Changes before or after the view are gathered at its edges. */
  readonly place: "before" | "in" | "after";
  readonly changes: readonly ChartChange[];
}

/** Marks closer than this cannot be distinguished or clicked. */
const APART_PX = 24;

/** `changes` are sorted by time; returns marks from left to right. */
export function changeMarks(changes: readonly ChartChange[], view: TimeView, innerPx: number): ChangeMark[] {
  const before = changes.filter(({ atUs }) => atUs < view.fromUs);
  const after = changes.filter(({ atUs }) => atUs >= view.toUs);
  const marks: ChangeMark[] = before.length === 0 ? [] : [{ at: 0, place: "before", changes: before }];
  for (const change of changes) {
    if (change.atUs < view.fromUs || change.atUs >= view.toUs) continue;
    const at = (change.atUs - view.fromUs) / span(view);
    const last = marks.at(-1);
    if (last?.place === "in" && (at - last.at) * innerPx < APART_PX) marks[marks.length - 1] = { ...last, changes: [...last.changes, change] };
    else marks.push({ at, place: "in", changes: [change] });
  }
  return after.length === 0 ? marks : [...marks, { at: 1, place: "after", changes: after }];
}

/** Positions of lines over a chart, 0 to 1. */
export const changeLines = (changes: readonly ChartChange[], view: TimeView): number[] =>
  changes.filter(({ atUs }) => atUs >= view.fromUs && atUs < view.toUs).map(({ atUs }) => (atUs - view.fromUs) / span(view));

/** How the time of a change is written: as a clock time, or from the start of a window. */
type When = (us: number) => string;
const byClock: When = (us) => clock(us, 1);
const changeLine = ({ atUs, text, what, origin }: ChartChange, when: When): string => `${when(atUs)} ${text} (${what}, ${origin})`;

const SHOWN = 8;

/** One line per change, and how many are left out. */
export function markLines({ changes }: Pick<ChangeMark, "changes">, when: When = byClock): string[] {
  const lines = changes.slice(0, SHOWN).map((change) => changeLine(change, when));
  return changes.length > SHOWN ? [...lines, `and ${count(changes.length - SHOWN)} more`] : lines;
}

/** Text for the lines over a chart, limited to the first changes. */
export const linesInView = (changes: readonly ChartChange[] | null, view: TimeView, when?: When): string[] =>
  markLines({ changes: (changes ?? []).filter(({ atUs }) => atUs >= view.fromUs && atUs < view.toUs) }, when);

const PLACES = { before: " before this view", in: "", after: " after this view" } as const;

/** Screen reader text of a mark. */
export const markName = (mark: ChangeMark): string =>
  `${mark.changes.length === 1 ? "Change" : `${count(mark.changes.length)} changes`}${PLACES[mark.place]}: ${markLines(mark).join("; ")}`;
