import { Link } from "@tanstack/react-router";
import type { CSSProperties, ReactElement, ReactNode } from "react";

import type { MapCall, MapPlace } from "@/api/services";
import { percent } from "@/lib/format";

import styles from "./CallMap.module.css";
import type { LinkWindow } from "./PlaceLink";
import { isTroubled, levelOf, MARKS, placeNote, placeText, worstShare } from "./words";

export interface PlaceCardProps {
  place: MapPlace;
  calls: readonly MapCall[];
  style: CSSProperties;
  /** The name only. */
  compact: boolean;
  isCenter: boolean;
  isFaded: boolean;
  isStop: boolean;
  window: LinkWindow;
  onPoint: (is: boolean) => void;
  onFocus: (is: boolean) => void;
}

/** A place of the map; a link to its server's page, unless it is clients. Its title describes it to those who see no lines. */
export function PlaceCard({ place, calls, style, compact, isCenter, isFaded, isStop, window, onPoint, onFocus }: PlaceCardProps): ReactElement {
  const text = placeText(place, calls);
  const worst = worstShare(place, calls);
  const look = {
    className: styles["card"],
    style,
    title: text,
    "data-kind": place.kind,
    "data-level": worst === null ? undefined : levelOf(worst),
    "data-compact": compact || undefined,
    "data-center": isCenter || undefined,
    "data-faded": isFaded || undefined,
    onMouseEnter: () => onPoint(true),
    onMouseLeave: () => onPoint(false),
  };
  const content = <Content place={place} worst={worst} compact={compact} isCircular={calls.some(({ caller, called }) => caller === place.id && called === place.id)} />;
  if (place.opens === null) return <div {...look}>{content}</div>;
  return (
    <Link
      to="/resources/$resourceId"
      params={{ resourceId: place.opens.id }}
      search={{ ...window }}
      // No preloading: a passing pointer crosses many cards.
      preload={false}
      data-place={place.id}
      tabIndex={isStop ? 0 : -1}
      onFocus={() => onFocus(true)}
      onBlur={() => onFocus(false)}
      {...look}
    >
      {content}
    </Link>
  );
}

function Content({ place, worst, compact, isCircular }: { place: MapPlace; worst: { slow_ratio: number | null } | null; compact: boolean; isCircular: boolean }): ReactNode {
  return (
    <>
      <span className={styles["name"]}>
        {place.name}
        {isCircular && <span title="Its containers call each other"> ↻</span>}
      </span>{" "}
      {worst?.slow_ratio != null && worst.slow_ratio > 0 && (
        <>
          <span className={styles["share"]}>
            {MARKS[levelOf(worst)]} {percent(worst.slow_ratio)}
          </span>{" "}
        </>
      )}
      {!compact && (
        <span className={styles["note"]} data-hot={isTroubled(place) || undefined}>
          {placeNote(place)}
        </span>
      )}
    </>
  );
}
