import type { ReactElement } from "react";

import type { MapCall, MapPlace, ServiceMap } from "@/api/services";

import styles from "./CallMap.module.css";
import { levelsOf } from "./levels";
import { keyOf } from "./MapPicture";
import { PlaceLink, type LinkWindow } from "./PlaceLink";
import { callParts, isTroubled, levelOf, MARKS, placeNote, serviceText } from "./words";

/** The map from top to bottom: each place that calls, with its calls below it. */
export function MapList({ map, window }: { map: ServiceMap; window: LinkWindow }): ReactElement {
  const { places, calls, center } = map;
  const levels = levelsOf(places.map(({ id }) => id), calls, center);
  const callers = places.filter(({ id }) => calls.some(({ caller }) => caller === id)).toSorted((a, b) => (levels.get(a.id) ?? 0) - (levels.get(b.id) ?? 0));
  return (
    <ol className={styles["list"]} aria-label="Callers">
      {callers.map((place) => (
        <li key={place.id} data-center={place.id === center || undefined}>
          <strong>
            <PlaceLink opens={place.opens} window={window}>
              {place.name}
            </PlaceLink>
          </strong>{" "}
          <span className={styles["dim"]} data-hot={isTroubled(place) || undefined}>
            {placeNote(place)}
          </span>
          <ul>
            {calls
              .filter(({ caller }) => caller === place.id)
              .map((call) => (
                <Row key={keyOf(call)} call={call} called={places.find(({ id }) => id === call.called)} window={window} />
              ))}
          </ul>
        </li>
      ))}
    </ol>
  );
}

function Row({ call, called, window }: { call: MapCall; called: MapPlace | undefined; window: LinkWindow }): ReactElement {
  const level = levelOf(call);
  const service = serviceText(call, called);
  return (
    <li>
      <span aria-hidden="true">→ </span>
      <PlaceLink opens={call.opens} window={window}>
        {called?.name ?? call.called}
      </PlaceLink>
      {call.protocol === "dns" && " DNS"}
      {service !== null && <span className={styles["dim"]}> · {service}</span>}
      <p data-hot={level === "slow" || level === "some" || undefined}>
        {MARKS[level] !== "" && <span aria-hidden="true">{MARKS[level]} </span>}
        {callParts(call).map((part, at) => (
          <span key={part}>
            {at > 0 && " · "}
            <span className={styles["nowrap"]}>{part}</span>
          </span>
        ))}
      </p>
    </li>
  );
}
