import type { ReactElement } from "react";

import { IntervalBar } from "@/widgets/IntervalBar";

import { rangeText, type ComparedFigure } from "./figures";
import styles from "./ResultTable.module.css";

/** Predicted next to recorded, each with its interval, from zero, with a scale per figure. */
export function ResultTable({ figures }: { figures: readonly ComparedFigure[] }): ReactElement {
  return (
    <table className={styles["results"]} aria-label="Predicted and recorded">
      <thead>
        <tr>
          <th scope="col">Figure</th>
          <th scope="col">Recorded</th>
          <th scope="col">Predicted</th>
          <th scope="col" className={styles["range"]}>
            90 % interval
          </th>
          <td className={styles["bar"]} />
        </tr>
      </thead>
      <tbody>
        {figures.map((figure) => {
          const { predicted, recorded, format } = figure;
          const better = predicted !== null && recorded !== null && predicted.high < recorded;
          return (
            <tr key={figure.name} data-figure={figure.name}>
              <th scope="row">{figure.title}</th>
              <td>{format(recorded)}</td>
              <td data-better={better}>
                <strong>{predicted === null ? "no prediction" : format(predicted.expected)}</strong>
                <span className={styles["rangeBelow"]}>{rangeText(figure)}</span>
              </td>
              <td className={styles["range"]}>{rangeText(figure)}</td>
              <td className={styles["bar"]}>
                {predicted !== null && recorded !== null && (
                  <IntervalBar interval={predicted} now={recorded} max={Math.max(recorded, predicted.high, 1e-9) * 1.04} good={better} format={format} nowLabel="recorded" />
                )}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
