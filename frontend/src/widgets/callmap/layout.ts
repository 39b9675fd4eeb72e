/** Where the cards of the map are, and the lines between them. Pure; all lengths are CSS pixels. */

import type { Ends } from "./levels";

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

interface Point {
  readonly x: number;
  readonly y: number;
}

/** A cubic curve, and the direction in which it arrives. */
export interface Line<Call extends Ends> {
  readonly call: Call;
  readonly points: readonly [Point, Point, Point, Point];
  readonly arrives: "right" | "left";
}

export interface Layout<Call extends Ends> {
  readonly width: number;
  readonly height: number;
  /** Cards have room for their name only. */
  readonly compact: boolean;
  readonly boxes: ReadonlyMap<string, Box>;
  readonly lines: readonly Line<Call>[];
}

const SWEEPS = 4;
/** Lines between cards that are at least `good` wide and apart have room for labels; many columns may be narrower. */
const CARD = { least: 120, good: 148, most: 300 };
const GAP = { least: 56, good: 104, most: 420 };
const ROOMY = { height: 54, gap: 22 };
const COMPACT = { height: 40, gap: 8 };
/** A column with more rows than this is compact. */
const ROOMY_ROWS = 8;
const BULGE = 56;

/** The places by column, ordered so that few lines cross. */
export function columnsOf(ids: readonly string[], calls: readonly Ends[], levels: ReadonlyMap<string, number>): string[][] {
  const count = 1 + Math.max(-1, ...levels.values());
  let columns = Array.from({ length: count }, (_, level) => ids.filter((id) => levels.get(id) === level));
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const order = columns.map((_, level) => (sweep % 2 === 0 ? level : count - 1 - level));
    for (const level of order) {
      const heights = heightsOf(columns);
      columns = columns.map((column, at) => (at === level ? nearTheirNeighbors(column, calls, heights) : column));
    }
  }
  return columns;
}

/** Of each place in its column, from its middle. */
function heightsOf(columns: readonly (readonly string[])[]): ReadonlyMap<string, number> {
  return new Map(columns.flatMap((column) => column.map((id, row) => [id, row - (column.length - 1) / 2] as const)));
}

function nearTheirNeighbors(column: readonly string[], calls: readonly Ends[], heights: ReadonlyMap<string, number>): string[] {
  const at = (id: string): number => heights.get(id) ?? 0;
  const wanted = new Map(
    column.map((id) => {
      const neighbors = calls.flatMap(({ caller, called }) => (caller === called ? [] : caller === id ? [at(called)] : called === id ? [at(caller)] : []));
      return [id, neighbors.length === 0 ? at(id) : neighbors.reduce((sum, one) => sum + one, 0) / neighbors.length];
    }),
  );
  return column.toSorted((a, b) => (wanted.get(a) ?? 0) - (wanted.get(b) ?? 0));
}

/** Cards and lines in a width; wider than that if the columns need it. A call of a place to itself has no line. */
export function layoutOf<Call extends Ends>(columns: readonly (readonly string[])[], calls: readonly Call[], widthPx: number): Layout<Call> {
  const rows = Math.max(0, ...columns.map((column) => column.length));
  const compact = rows > ROOMY_ROWS;
  const row = compact ? COMPACT : ROOMY;
  const { card, gap } = across(columns.length, widthPx);
  const height = rows * row.height + Math.max(0, rows - 1) * row.gap;
  const boxes = new Map<string, Box>();
  columns.forEach((column, level) => {
    const top = (height - column.length * row.height - (column.length - 1) * row.gap) / 2;
    column.forEach((id, at) => boxes.set(id, { x: level * (card + gap), y: top + at * (row.height + row.gap), width: card, height: row.height }));
  });
  const width = columns.length * card + Math.max(0, columns.length - 1) * gap;
  return { width, height, compact, boxes, lines: linesOf(calls, boxes) };
}

function across(columns: number, widthPx: number): { card: number; gap: number } {
  const gaps = Math.max(1, columns - 1);
  const widest = (gap: number): number => (widthPx - gaps * gap) / Math.max(1, columns);
  const card = Math.floor(widest(GAP.good) >= CARD.good ? Math.min(CARD.most, widest(GAP.good)) : Math.min(CARD.good, Math.max(CARD.least, widest(GAP.least))));
  return { card, gap: Math.floor(Math.min(GAP.most, Math.max(GAP.least, (widthPx - columns * card) / gaps))) };
}

type Side = "left" | "right";

function linesOf<Call extends Ends>(calls: readonly Call[], boxes: ReadonlyMap<string, Box>): Line<Call>[] {
  const drawn = calls.flatMap((call) => {
    const [from, to] = [boxes.get(call.caller), boxes.get(call.called)];
    if (from === undefined || to === undefined || call.caller === call.called) return [];
    const leaves: Side = to.x < from.x ? "left" : "right";
    const enters: Side = to.x > from.x ? "left" : "right";
    return [{ call, from, to, leaves, enters }];
  });
  const starts = spread(drawn.map(({ call, from, to, leaves }) => ({ id: call.caller, side: leaves, box: from, other: to })), 0);
  // Behind the starts, where both are on one side.
  const ends = spread(drawn.map(({ call, from, to, enters }) => ({ id: call.called, side: enters, box: to, other: from })), 1);
  return drawn.map(({ call, leaves, enters }, at) => {
    const [start, end] = [starts[at] ?? ORIGIN, ends[at] ?? ORIGIN];
    const bend = start.x === end.x ? BULGE : Math.max(30, Math.abs(end.x - start.x) / 2);
    const points = [start, aside(start, leaves, bend), aside(end, enters, bend), end] as const;
    return { call, points, arrives: enters === "left" ? "right" : "left" };
  });
}

const ORIGIN: Point = { x: 0, y: 0 };

const aside = ({ x, y }: Point, side: Side, by: number): Point => ({ x: side === "left" ? x - by : x + by, y });

interface Port {
  readonly id: string;
  readonly side: Side;
  readonly box: Box;
  readonly other: Box;
}

/** One point per port: the ports on a side of a card are as far apart as they can be, in the order of their other ends. */
function spread(ports: readonly Port[], nudge: number): Point[] {
  return ports.map(({ id, side, box, other }, at) => {
    const beside = ports.map((one, index) => ({ ...one, index })).filter((one) => one.id === id && one.side === side);
    const rank = beside.filter((one) => one.other.y < other.y || (one.other.y === other.y && one.index < at)).length;
    const y = box.y + (box.height * (rank + 1)) / (beside.length + 1) + nudge;
    return { x: side === "left" ? box.x : box.x + box.width, y };
  });
}

/** A point on a curve, t from 0 to 1. */
export function along([a, b, c, d]: Line<Ends>["points"], t: number): Point {
  const mix = (key: "x" | "y"): number => (1 - t) ** 3 * a[key] + 3 * (1 - t) ** 2 * t * b[key] + 3 * (1 - t) * t ** 2 * c[key] + t ** 3 * d[key];
  return { x: mix("x"), y: mix("y") };
}
