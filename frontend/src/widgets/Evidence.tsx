import { memo, type ReactElement } from "react";

import type { Schemas } from "@/api/client";
import type { TimeView } from "@/lib/timeView";

import styles from "./Evidence.module.css";

type Item = Omit<Schemas["SharedEvidence"], "series"> & { series: readonly Schemas["SharedSpan"][] };

export interface EvidenceProps {
  evidence: readonly Item[];
  /** Shows in the timeline above where a number comes from. */
  onShow?: (span: TimeView) => void;
}

/** Measured statements, each with its value and the value expected by chance. */
export const Evidence = memo(function Evidence({ evidence, onShow }: EvidenceProps): ReactElement {
  return (
    <table className={styles["evidence"]}>
      <thead className="visually-hidden">
        <tr>
          <th scope="col">Statement</th>
          <th scope="col">Measured</th>
        </tr>
      </thead>
      <tbody>
        {evidence.map((item) => {
          const at = item.series[0];
          return (
            <tr key={item.id}>
              <th scope="row">
                <span className={styles["statement"]}>{item.statement}</span>
                {at !== undefined && onShow !== undefined && (
                  <button type="button" className={styles["show"]} onClick={() => onShow({ fromUs: at.from_us, toUs: at.to_us })}>
                    show
                  </button>
                )}
              </th>
              <td>
                <strong>{item.value}</strong>
                {item.comparison !== null && <span className={styles["chance"]}>{item.comparison}</span>}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
});
