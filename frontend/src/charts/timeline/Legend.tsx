import { memo, type ReactElement } from "react";

import { microseconds } from "@/lib/format";

import { hasSeries } from "./connections";
import { unkept } from "./counts";
import type { TimelineModel } from "./model";
import styles from "./Timeline.module.css";

const CONNECTION_MARKS = [
  { series: "connections", mark: "markArea", text: "TCP connections" },
  { series: "children", mark: "markChildren", text: "children" },
  { series: "backlog", mark: "markBacklog", text: "accept queue" },
  { series: "dropped", mark: "markDropped", text: "dropped" },
  { series: "upstream", mark: "markUpstream", text: "upstream connections" },
] as const;

/** The meaning of the marks, which differ by shape and color. */
export const Legend = memo(function Legend({ model, hasAnswers, hasGc }: { model: TimelineModel; hasAnswers: boolean; hasGc: boolean }): ReactElement {
  // A node has no limit and cannot be throttled.
  const unlimited = model.limits.length === 0 && model.throttled.length === 0;
  const rates = hasAnswers && unkept(model).length > 0;
  return (
    <ul className={styles["legend"]} aria-label="Legend">
      {unlimited ? (
        <li>
          <i className={styles["markBar"]} /> CPU usage
        </li>
      ) : (
        <>
          <li>
            <i className={styles["markBar"]} /> below the limit
          </li>
          <li>
            <i className={styles["markOver"]} /> over the limit
          </li>
          <li>
            <i className={styles["markLimit"]} /> limit
          </li>
          <li>
            <i className={styles["markThrottled"]} /> throttled
          </li>
        </>
      )}
      {hasGc && (
        <li>
          <i className={styles["markGc"]} /> GC cycle
        </li>
      )}
      {hasAnswers && (
        <>
          <li>
            <i className={styles["markDot"]} /> answer
          </li>
          <li>
            <i className={styles["markSlow"]} /> over {microseconds(model.slowThresholdUs)}
          </li>
        </>
      )}
      {CONNECTION_MARKS.filter(({ series }) => hasSeries(model.connections, series)).map(({ series, mark, text }) => (
        <li key={series}>
          <i className={styles[mark]} /> {text}
        </li>
      ))}
      {model.errors.length > 0 && (
        <li>
          <i className={styles["markError"]}>×</i> error line
        </li>
      )}
      {rates && (
        <li>
          <i className={styles["markMedian"]} /> median and slowest per tick
        </li>
      )}
      <li>
        <i className={styles["markGap"]} /> {rates ? "not recorded, or single answers not kept" : "not recorded"}
      </li>
    </ul>
  );
});
