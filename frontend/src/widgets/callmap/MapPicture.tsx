import { Link } from "@tanstack/react-router";
import { useMemo, useRef, useState, type KeyboardEvent, type ReactElement } from "react";

import type { MapCall, ServiceMap } from "@/api/services";
import { plural } from "@/lib/format";

import styles from "./CallMap.module.css";
import { labelsOf } from "./labels";
import { columnsOf, layoutOf, type Box, type Line } from "./layout";
import { arrowPath } from "./Legend";
import { levelsOf } from "./levels";
import { moved } from "./moves";
import { PlaceCard } from "./PlaceCard";
import type { LinkWindow } from "./PlaceLink";
import { labelTexts, levelOf } from "./words";

/** Right of the picture, for lines that bulge out of its last column. */
const BULGE_PX = 44;

export interface MapPictureProps {
  map: ServiceMap;
  widthPx: number;
  window: LinkWindow;
}

/** Callers left of what they call. All cards are one Tab stop; arrow keys move between them. */
export function MapPicture({ map, widthPx, window }: MapPictureProps): ReactElement {
  const { places, calls, center } = map;
  const frame = useRef<HTMLDivElement>(null);
  const [pointed, setPointed] = useState<string | null>(null);
  const [focused, setFocused] = useState<string | null>(null);
  const [stop, setStop] = useState<string | null>(center);
  const layout = useMemo(() => {
    const ids = places.map(({ id }) => id);
    return layoutOf(columnsOf(ids, calls, levelsOf(ids, calls, center)), calls, widthPx - BULGE_PX);
  }, [places, calls, center, widthPx]);
  const linked = useMemo(() => new Map([...layout.boxes].filter(([id]) => places.some((place) => place.id === id && place.opens !== null))), [layout, places]);
  const tabStop = stop !== null && linked.has(stop) ? stop : (linked.keys().next().value ?? null);
  const active = pointed ?? focused;
  const labels = useMemo(() => {
    // Among many lines, the figures of those without trouble are shown on demand.
    const isQuiet = (call: MapCall): boolean => layout.compact && levelOf(call) === "calm" && call.caller !== active && call.called !== active;
    return labelsOf(layout, (call) => (isQuiet(call) ? [] : labelTexts(call)));
  }, [layout, active]);
  const isFaded = ({ caller, called }: MapCall): boolean => active !== null && caller !== active && called !== active;
  const near = new Set([active, ...calls.filter((call) => !isFaded(call)).flatMap(({ caller, called }) => [caller, called])]);

  const move = (event: KeyboardEvent): void => {
    if (focused === null || event.altKey || event.ctrlKey || event.metaKey) return;
    const next = moved(linked, focused, event.key);
    if (next === null) return;
    event.preventDefault();
    [...(frame.current?.querySelectorAll<HTMLElement>("[data-place]") ?? [])].find((card) => card.dataset["place"] === next)?.focus();
  };

  return (
    // The links are what is pressed; this only moves the focus among them.
    // eslint-disable-next-line jsx-a11y/no-static-element-interactions
    <div className={styles["scroll"]} onKeyDown={move}>
      <div ref={frame} className={styles["picture"]} style={{ width: layout.width, height: layout.height }} role="group" aria-label={`Map of ${plural(calls.length, "call")} between ${plural(places.length, "place")}. Arrow keys move between places; the table below lists the calls.`}>
        <svg className={styles["lines"]} width={layout.width} height={layout.height} aria-hidden="true">
          {layout.lines.toReversed().map((line) => (
            <CallLine key={keyOf(line.call)} line={line} isFaded={isFaded(line.call)} isQuiet={layout.compact && active === null} window={window} />
          ))}
        </svg>
        {labels.map(({ call, text, box }) => (
          <p key={keyOf(call)} className={styles["label"]} style={at(box)} data-level={levelOf(call)} data-faded={isFaded(call) || undefined} aria-hidden="true">
            {text}
          </p>
        ))}
        {places.map((place) => {
          const box = layout.boxes.get(place.id);
          if (box === undefined) return null;
          return (
            <PlaceCard
              key={place.id}
              place={place}
              calls={calls}
              style={at(box)}
              compact={layout.compact}
              isCenter={place.id === center}
              isFaded={active !== null && !near.has(place.id)}
              isStop={place.id === tabStop}
              window={window}
              onPoint={(is) => setPointed(is ? place.id : null)}
              onFocus={(is) => {
                setFocused(is ? place.id : null);
                if (is) setStop(place.id);
              }}
            />
          );
        })}
      </div>
      {layout.compact && <p className={styles["hint"]}>Point at a place, or move to it with Tab and arrows, for the figures of its calls.</p>}
    </div>
  );
}

const at = ({ x, y, width, height }: Box): { left: number; top: number; width: number; height: number } => ({ left: x, top: y, width, height });

/** Stable from one answer to the next. */
export const keyOf = ({ caller, called, protocol }: MapCall): string => `${protocol} ${caller} ${called}`;

/** For the pointer; the table has the same links for everyone. */
function CallLine({ line, isFaded, isQuiet, window }: { line: Line<MapCall>; isFaded: boolean; isQuiet: boolean; window: LinkWindow }): ReactElement {
  const { call, points, arrives } = line;
  const [a, b, c, d] = points;
  const level = levelOf(call);
  const tip = arrowPath(d.x, d.y, arrives);
  const end = arrives === "right" ? d.x - 7 : d.x + 7;
  const path = `M${a.x} ${a.y} C${b.x} ${b.y} ${c.x} ${c.y} ${end} ${d.y}`;
  return (
    <Link to="/resources/$resourceId" params={{ resourceId: call.opens.id }} search={{ ...window }} preload={false} tabIndex={-1} className={styles["call"]} data-faded={isFaded || undefined} data-quiet={(isQuiet && level === "calm") || undefined}>
      <path className={styles["hit"]} d={path} />
      <path className={styles["line"]} data-level={level} d={path} />
      <path className={styles["arrow"]} data-level={level} data-dns={call.protocol === "dns" || undefined} d={tip} />
    </Link>
  );
}
