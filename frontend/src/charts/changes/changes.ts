/** Changes as marks over a chart: near ones are one mark, those outside the view one at its edge. Pure. */

import { count } from "@/lib/format";
import { clock } from "@/lib/time";
import { span, type TimeView } from "@/lib/timeView";

export interface ChartChange {
  readonly key: string;
  readonly atUs: number;
  readonly text: string;
  /** Of what: "shop/cart/cart". */
  readonly what: string;
  /** Who told of it, in words. */
  readonly origin: string;
  /** Whose change it is, where it was asked for several resources. */
  readonly of: readonly number[];
}

export interface ChangeMark {
  /** From 0, the left edge of the view, to 1. */
  readonly at: number;
  /** Changes that lie before or after the view are gathered at its edges. */
  readonly place: "before" | "in" | "after";
  readonly changes: readonly ChartChange[];
}

/** Marks closer than this cannot be told apart or hit. */
const APART_PX = 24;

/** `changes` sorted by time; marks from left to right. */
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

/** Where lines are drawn over a chart, 0 to 1. */
export const changeLines = (changes: readonly ChartChange[], view: TimeView): number[] =>
  changes.filter(({ atUs }) => atUs >= view.fromUs && atUs < view.toUs).map(({ atUs }) => (atUs - view.fromUs) / span(view));

/** How the time of a change is written: by the clock, or from the start of a window. */
type When = (us: number) => string;
const byClock: When = (us) => clock(us, 1);
const changeLine = ({ atUs, text, what, origin }: ChartChange, when: When): string => `${when(atUs)} ${text} (${what}, ${origin})`;

const SHOWN = 8;

/** One line a change, and how many are left out. */
export function markLines({ changes }: Pick<ChangeMark, "changes">, when: When = byClock): string[] {
  const lines = changes.slice(0, SHOWN).map((change) => changeLine(change, when));
  return changes.length > SHOWN ? [...lines, `and ${count(changes.length - SHOWN)} more`] : lines;
}

/** What the lines over a chart are, as far as words are useful: of many changes the first. */
export const linesInView = (changes: readonly ChartChange[] | null, view: TimeView, when?: When): string[] =>
  markLines({ changes: (changes ?? []).filter(({ atUs }) => atUs >= view.fromUs && atUs < view.toUs) }, when);

const PLACES = { before: " before this view", in: "", after: " after this view" } as const;

/** What a screen reader says of a mark. */
export const markName = (mark: ChangeMark): string =>
  `${mark.changes.length === 1 ? "Change" : `${count(mark.changes.length)} changes`}${PLACES[mark.place]}: ${markLines(mark).join("; ")}`;
