/** A flame graph as a tree of frames, placed by d3-hierarchy. Pure. */

import { hierarchy, partition, type HierarchyRectangularNode } from "d3-hierarchy";

export type FrameKind = "root" | "command" | "user" | "kernel";

/** Merged stacks as parallel arrays, parents first; node 0 is the root. */
export interface FlameData {
  readonly names: readonly string[];
  readonly kinds: readonly FrameKind[];
  readonly parent: readonly number[];
  readonly name: readonly number[];
  readonly kind: readonly number[];
  readonly samples: readonly number[];
}

interface FrameNode {
  readonly id: number;
  readonly name: string;
  readonly kind: FrameKind;
  /** Including callees. */
  readonly samples: number;
  readonly children: FrameNode[];
}

/** x0 to x1 is the share of all samples, `depth` the row. */
export type PlacedFrame = HierarchyRectangularNode<FrameNode>;

export function placed(data: FlameData): PlacedFrame {
  const nodes: FrameNode[] = data.parent.map((_, id) => ({
    id,
    name: data.names[data.name[id] ?? 0] ?? "",
    kind: data.kinds[data.kind[id] ?? 0] ?? "user",
    samples: data.samples[id] ?? 0,
    children: [],
  }));
  const own = Float64Array.from(data.samples);
  data.parent.forEach((parent, id) => {
    if (id === 0) return;
    nodes[parent]?.children.push(nodes[id] as FrameNode);
    own[parent] = (own[parent] ?? 0) - (data.samples[id] ?? 0);
  });
  const root = hierarchy(nodes[0] as FrameNode)
    .sum((node) => Math.max(0, own[node.id] ?? 0))
    .sort((a, b) => (b.value ?? 0) - (a.value ?? 0) || a.data.name.localeCompare(b.data.name));
  return partition<FrameNode>()(root);
}

export interface Box {
  readonly frame: PlacedFrame;
  /** Pixels. */
  readonly left: number;
  readonly width: number;
  readonly row: number;
  /** An ancestor of the zoomed frame: as wide as the graph. */
  readonly above: boolean;
}

/** A narrower box can be neither seen nor clicked. */
const LEAST_PX = 2;

/** The boxes to draw when `zoom` fills the width: its callers above it, and everything wide enough below. */
export function boxes(zoom: PlacedFrame, widthPx: number): Box[] {
  const found: Box[] = zoom
    .ancestors()
    .slice(1)
    .reverse()
    .map((frame) => ({ frame, left: 0, width: widthPx, row: frame.depth, above: true }));
  const scale = widthPx / (zoom.x1 - zoom.x0 || 1);
  const waiting: PlacedFrame[] = [zoom];
  for (let frame = waiting.pop(); frame !== undefined; frame = waiting.pop()) {
    const width = (frame.x1 - frame.x0) * scale;
    if (width < LEAST_PX && frame !== zoom) continue;
    found.push({ frame, left: (frame.x0 - zoom.x0) * scale, width, row: frame.depth, above: false });
    waiting.push(...(frame.children ?? []));
  }
  return found.sort((a, b) => a.row - b.row || a.left - b.left);
}

/** Target of an arrow key from a frame: its widest callee, its caller, or its neighbor in the same row. */
export function neighbor(shown: readonly Box[], id: number, key: string): number | null {
  const at = shown.findIndex((box) => box.frame.data.id === id);
  const box = shown[at];
  if (box === undefined) return shown[0]?.frame.data.id ?? null;
  const beside = (step: number): number | null => {
    const next = shown[at + step];
    return next?.row === box.row ? next.frame.data.id : null;
  };
  switch (key) {
    case "ArrowDown": {
      // Children are sorted: the first one shown is the widest.
      const below = shown.find((one) => one.frame.parent === box.frame);
      return below?.frame.data.id ?? null;
    }
    case "ArrowUp":
      return box.frame.parent?.data.id ?? null;
    case "ArrowLeft":
      return beside(-1);
    case "ArrowRight":
      return beside(1);
    default:
      return null;
  }
}

/** Frames that a search found, and their samples; nested matches count once. */
export interface Found {
  readonly ids: ReadonlySet<number>;
  readonly samples: number;
}

/** Frames whose name contains the text, ignoring case. */
export function search(root: PlacedFrame, text: string): Found {
  const wanted = text.trim().toLowerCase();
  const ids = new Set<number>();
  let samples = 0;
  if (wanted === "") return { ids, samples };
  const waiting: (readonly [PlacedFrame, boolean])[] = [[root, false]];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [frame, inside] = next;
    const matches = frame.data.kind !== "root" && frame.data.name.toLowerCase().includes(wanted);
    if (matches) ids.add(frame.data.id);
    if (matches && !inside) samples += frame.data.samples;
    for (const child of frame.children ?? []) waiting.push([child, inside || matches]);
  }
  return { ids, samples };
}
