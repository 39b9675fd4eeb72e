import { useRef, type ReactElement } from "react";

import type { ServiceMap } from "@/api/services";
import { useWidth } from "@/charts/useWidth";

import styles from "./CallMap.module.css";
import { CallTable } from "./CallTable";
import { Legend } from "./Legend";
import { MapList } from "./MapList";
import { MapPicture } from "./MapPicture";
import type { LinkWindow } from "./PlaceLink";
import { leftOut } from "./words";

/** Narrower than this, cards and lines have no room beside each other. */
const PICTURE_PX = 700;

/** Who calls whom: a picture with a table of its calls, or a list where there is no room for a picture. */
export function CallMap({ map, window }: { map: ServiceMap; window: LinkWindow }): ReactElement {
  const host = useRef<HTMLDivElement>(null);
  const widthPx = useWidth(host);
  const missing = leftOut(map);
  return (
    <div ref={host} className={styles["host"]}>
      {missing !== null && <p className={styles["dim"]}>{missing}</p>}
      {widthPx >= PICTURE_PX && (
        <>
          <MapPicture map={map} widthPx={widthPx} window={window} />
          <Legend />
          <CallTable map={map} window={window} />
        </>
      )}
      {widthPx > 0 && widthPx < PICTURE_PX && <MapList map={map} window={window} />}
    </div>
  );
}
