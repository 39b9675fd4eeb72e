import { useEffect, useId, useMemo, useRef, useState, type CSSProperties, type KeyboardEvent, type ReactElement } from "react";

import { useWidth } from "@/charts/useWidth";
import { milliseconds, percent, plural } from "@/lib/format";
import { Button } from "@/ui/Button";

import { boxes, neighbor, placed, search, type Box, type FlameData, type Found, type FrameKind, type PlacedFrame } from "./frames";
import styles from "./FlameGraph.module.css";

const ROW_PX = 20;
/** Narrower boxes have no room for useful text. */
const TEXT_PX = 26;

const KIND_WORDS: Record<FrameKind, string> = { root: "all samples", command: "process", user: "user", kernel: "kernel" };

export interface FlameGraphProps {
  data: FlameData;
  /** CPU time per sample. */
  msPerSample: number;
  label: string;
}

/**
 * Stacks merged into boxes as wide as their share of the samples, callees below their caller.
 * A click zooms in; arrow keys move, Enter zooms in, Escape zooms out.
 */
export function FlameGraph({ data, msPerSample, label }: FlameGraphProps): ReactElement {
  const host = useRef<HTMLDivElement>(null);
  const widthPx = useWidth(host);
  const helpId = useId();
  const root = useMemo(() => placed(data), [data]);
  const [zoomId, setZoomId] = useState(0);
  const [focusId, setFocusId] = useState(0);
  const [hoverId, setHoverId] = useState<number | null>(null);
  const [wanted, setWanted] = useState("");
  const byId = useMemo(() => new Map(root.descendants().map((frame) => [frame.data.id, frame])), [root]);
  const zoom = byId.get(zoomId) ?? root;
  const shown = useMemo(() => (widthPx > 0 ? boxes(zoom, widthPx) : []), [zoom, widthPx]);
  const found = useMemo(() => search(root, wanted), [root, wanted]);
  const focused = shown.some((box) => box.frame.data.id === focusId) ? focusId : zoom.data.id;
  const told = byId.get(hoverId ?? focused) ?? root;
  const total = root.data.samples;
  const rows = shown.reduce((most, box) => Math.max(most, box.row), 0) + 1;

  const zoomTo = (frame: PlacedFrame): void => {
    setZoomId(frame.data.id);
    setFocusId(frame.data.id);
  };

  // The focus follows its box, but only if it was inside the graph already.
  useEffect(() => {
    if (host.current?.contains(document.activeElement) !== true) return;
    const box = host.current.querySelector<HTMLElement>('[tabindex="0"]');
    box?.focus({ preventScroll: true });
    box?.scrollIntoView({ block: "nearest" });
  }, [focused, zoomId]);

  const press = (event: KeyboardEvent): void => {
    if (event.metaKey || event.ctrlKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") zoomTo(byId.get(focused) ?? root);
    else if (event.key === "Escape" && zoom !== root) zoomTo(zoom.parent ?? root);
    else if (event.key === "Home") zoomTo(root);
    else {
      const next = neighbor(shown, focused, event.key);
      if (next === null) return;
      setFocusId(next);
    }
    setHoverId(null);
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div className={styles["flame"]}>
      <div className={styles["controls"]}>
        <ul className={styles["legend"]} aria-label="Legend">
          {(["command", "user", "kernel"] as const).map((kind) => (
            <li key={kind}>
              <i className={styles["mark"]} data-kind={kind} /> {KIND_WORDS[kind]}
            </li>
          ))}
        </ul>
        <input type="search" className={styles["search"]} aria-label="Find a function" placeholder="Find a function" value={wanted} onChange={(event) => setWanted(event.target.value)} />
        <Button kind="quiet" disabled={zoom === root} onClick={() => zoomTo(root)}>
          Show all
        </Button>
      </div>
      <p className={styles["told"]}>
        <strong>{told.data.name}</strong> <span>{words(told, total, msPerSample)}</span>
      </p>
      {/* Always there: what is found must not move the boxes. */}
      <p className={styles["found"]} role="status">
        {wanted.trim() !== "" && matches(found, total)}
      </p>
      <div ref={host} className={styles["picture"]}>
        {/* Its boxes take the focus, one of them with Tab. */}
        {/* eslint-disable-next-line jsx-a11y/interactive-supports-focus */}
        <div role="tree" aria-label={label} aria-describedby={helpId} className={styles["boxes"]} style={{ height: rows * ROW_PX }} onKeyDown={press} onPointerLeave={() => setHoverId(null)}>
          {shown.map((box) => (
            <FrameBox
              key={box.frame.data.id}
              box={box}
              words={words(box.frame, total, msPerSample)}
              tabbable={box.frame.data.id === focused}
              zoomed={box.frame === zoom}
              matched={found.ids.size === 0 ? undefined : found.ids.has(box.frame.data.id)}
              onZoom={() => zoomTo(box.frame)}
              onHover={() => setHoverId(box.frame.data.id)}
            />
          ))}
        </div>
      </div>
      <p id={helpId} className="visually-hidden">
        Arrow down moves to the widest frame below, arrow up to the caller, left and right along the row. Enter zooms in, Escape zooms out, Home shows all.
      </p>
    </div>
  );
}

interface FrameBoxProps {
  box: Box;
  words: string;
  tabbable: boolean;
  zoomed: boolean;
  matched: boolean | undefined;
  onZoom: () => void;
  onHover: () => void;
}

function FrameBox({ box, words: told, tabbable, zoomed, matched, onZoom, onHover }: FrameBoxProps): ReactElement {
  const { name, kind } = box.frame.data;
  const place: CSSProperties = { left: box.left, width: Math.max(1, box.width - 1), top: box.row * ROW_PX, height: ROW_PX - 1 };
  return (
    // The tree handles keys.
    // eslint-disable-next-line jsx-a11y/click-events-have-key-events
    <div
      role="treeitem"
      aria-level={box.row + 1}
      aria-selected={zoomed}
      aria-label={`${name}, ${told}`}
      tabIndex={tabbable ? 0 : -1}
      className={styles["box"]}
      data-kind={kind}
      data-above={box.above || undefined}
      data-match={matched}
      style={place}
      onClick={onZoom}
      onPointerEnter={onHover}
    >
      {box.width >= TEXT_PX && <span>{name}</span>}
    </div>
  );
}

function matches(found: Found, total: number): string {
  if (found.ids.size === 0) return "No matching frames.";
  return `${plural(found.ids.size, "matching frame")}, ${percent(total === 0 ? 0 : found.samples / total)} of samples.`;
}

function words(frame: PlacedFrame, total: number, msPerSample: number): string {
  const { samples, kind } = frame.data;
  const share = total === 0 ? 0 : samples / total;
  return `${KIND_WORDS[kind]}, ${percent(share)} of samples, about ${milliseconds(samples * msPerSample)} of CPU`;
}
