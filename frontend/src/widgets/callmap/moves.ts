/** Where an arrow key leads from a card. Pure. */

import type { Box } from "./layout";

type Boxes = ReadonlyMap<string, Box>;

/** The id of the nearest card in that direction; null if there is none, or the key moves nothing. */
export function moved(boxes: Boxes, from: string, key: string): string | null {
  const own = boxes.get(from);
  if (own === undefined) return null;
  const others = [...boxes].filter(([id]) => id !== from);
  switch (key) {
    case "ArrowUp":
      return nearest(others.filter(([, box]) => box.x === own.x && box.y < own.y), own);
    case "ArrowDown":
      return nearest(others.filter(([, box]) => box.x === own.x && box.y > own.y), own);
    case "ArrowLeft":
      return nearest(others.filter(([, box]) => box.x < own.x), own);
    case "ArrowRight":
      return nearest(others.filter(([, box]) => box.x > own.x), own);
    case "Home":
      return [...boxes.keys()].at(0) ?? null;
    case "End":
      return [...boxes.keys()].at(-1) ?? null;
    default:
      return null;
  }
}

/** In the nearest column, the nearest row. */
function nearest(found: readonly (readonly [string, Box])[], own: Box): string | null {
  const away = ({ x, y }: Box): readonly [number, number] => [Math.abs(x - own.x), Math.abs(y - own.y)];
  const [first] = found.toSorted(([, a], [, b]) => away(a)[0] - away(b)[0] || away(a)[1] - away(b)[1]);
  return first?.[0] ?? null;
}
