import type { ReactElement } from "react";

import type { ComparedMeasure, Comparison } from "@/api/compare";
import { joinRange, measure, MISSING, significant } from "@/lib/format";
import { Table, tableStyles } from "@/ui/Table";

import styles from "./Compare.module.css";
import { differenceText, pText } from "./pair";

/** Every figure of both sides, the most certain differences first; then the load of both. */
export function DifferenceTable({ comparison }: { comparison: Comparison }): ReactElement {
  return (
    <Table label="Differences">
      <thead>
        <tr>
          <th scope="col">Figure</th>
          <th scope="col" className={tableStyles["number"]}>This</th>
          <th scope="col" className={tableStyles["number"]}>Other</th>
          <th scope="col" className={tableStyles["number"]}>This / other, 90 % interval</th>
          <th scope="col">Difference</th>
          <th scope="col">Test</th>
        </tr>
      </thead>
      <tbody>
        {comparison.measures.map((one) => (
          <tr key={one.metric} aria-label={differenceText(one)}>
            <th scope="row">{one.title}</th>
            <td className={tableStyles["number"]}>{measure(one.this, one.unit)}</td>
            <td className={tableStyles["number"]}>{measure(one.other, one.unit)}</td>
            <td className={tableStyles["number"]}>{ratioText(one)}</td>
            <td className={tableStyles["nowrap"]}>
              <Verdict one={one} />
            </td>
            <td className={styles["test"]}>{one.p_value === null ? "One figure per window: not tested" : `${pText(one.p_value)} alone; ${one.test ?? ""}`}</td>
          </tr>
        ))}
        {comparison.loads.map((load) => (
          <tr key={`load ${load.id}`}>
            <th scope="row">Load, {load.unit}</th>
            <td className={tableStyles["number"]}>{significant(load.this)}</td>
            <td className={tableStyles["number"]}>{significant(load.other)}</td>
            <td className={tableStyles["number"]}>{load.other > 0 ? `${significant(load.this / load.other, 2)} ×` : MISSING}</td>
            <td className={styles["dim"]}>offered load</td>
            <td className={styles["test"]}>Mean: not tested</td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}

function ratioText({ ratio }: ComparedMeasure): string {
  if (ratio === null) return MISSING;
  return `${significant(ratio.expected, 2)} × (${joinRange(`${significant(ratio.low, 2)} ×`, `${significant(ratio.high, 2)} ×`)})`;
}

/** Direction by word and arrow, readable without color. */
function Verdict({ one }: { one: ComparedMeasure }): ReactElement {
  if (one.adjusted_p === null) return <span className={styles["dim"]}>{MISSING}</span>;
  if (!one.differs) return <span className={styles["dim"]}>none shown, {pText(one.adjusted_p)}</span>;
  const isMore = one.this > one.other;
  const isWorse = one.better !== "none" && isMore === (one.better === "lower");
  return (
    <span className={styles["differs"]}>
      {isMore ? "▲ more" : "▼ less"}
      {one.better === "none" ? "" : isWorse ? ", worse" : ", better"}, {pText(one.adjusted_p)}
    </span>
  );
}
