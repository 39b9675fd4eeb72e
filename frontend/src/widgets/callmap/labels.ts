/** Which lines of the map have their figures beside them: as many as fit without covering anything. Pure. */

import { along, type Box, type Layout } from "./layout";
import type { Ends } from "./levels";

export interface Label<Call extends Ends> {
  readonly call: Call;
  readonly text: string;
  readonly box: Box;
}

const HEIGHT_PX = 18;
/** Of a character at 12 px, and of the padding. */
const CHARACTER_PX = 6.6;
const PADDING_PX = 10;
/** Parts of the line to try, the middle first. */
const TRIES = [0.5, 0.4, 0.6, 0.3, 0.7, 0.22, 0.78];

/** The first lines are served first; the longest of its texts that fits is a line's. */
export function labelsOf<Call extends Ends>(layout: Pick<Layout<Call>, "width" | "boxes" | "lines">, textsOf: (call: Call) => readonly string[]): Label<Call>[] {
  const found: Label<Call>[] = [];
  const cards = [...layout.boxes.values()];
  for (const line of layout.lines) {
    const places = textsOf(line.call).flatMap((text) => TRIES.map((t) => ({ text, box: around(along(line.points, t), text) })));
    const free = places.find(({ box }) => box.x >= 0 && box.x + box.width <= layout.width && ![...cards, ...found.map((one) => one.box)].some((other) => overlap(box, other)));
    if (free !== undefined) found.push({ call: line.call, ...free });
  }
  return found;
}

function around({ x, y }: { x: number; y: number }, text: string): Box {
  const width = text.length * CHARACTER_PX + PADDING_PX;
  return { x: x - width / 2, y: y - HEIGHT_PX / 2, width, height: HEIGHT_PX };
}

export const overlap = (one: Box, other: Box): boolean => one.x < other.x + other.width && other.x < one.x + one.width && one.y < other.y + other.height && other.y < one.y + one.height;
