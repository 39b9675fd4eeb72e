import type { ReactElement } from "react";

import type { Schemas } from "@/api/client";
import { joinRange, measure, measureRange, significant } from "@/lib/format";
import { Table, tableStyles } from "@/ui/Table";

import { predictionOf } from "./blocks";
import styles from "./VerificationSection.module.css";

type Measure = Schemas["VerifiedMeasure"];

/** Each figure before and after, the test of the difference, and the prediction next to the outcome. */
export function MeasureTable({ measures }: { measures: readonly Measure[] }): ReactElement {
  return (
    <Table label="Before, after and predicted">
      <thead>
        <tr>
          <th scope="col">Figure</th>
          <th scope="col" className={tableStyles["number"]}>
            Before
          </th>
          <th scope="col" className={tableStyles["number"]}>
            After
          </th>
          <th scope="col" className={tableStyles["number"]}>
            Predicted
          </th>
          <th scope="col">Outcome vs. prediction</th>
          <th scope="col">Test</th>
        </tr>
      </thead>
      <tbody>
        {measures.map((one) => {
          const predicted = predictionOf(one);
          return (
            <tr key={one.metric}>
              <th scope="row" className={tableStyles["nowrap"]}>
                {one.title}
              </th>
              <td className={tableStyles["number"]}>{measure(one.before, one.unit)}</td>
              <td className={tableStyles["number"]}>{measure(one.after, one.unit)}</td>
              <td className={tableStyles["number"]}>
                {predicted === null ? "no prediction" : measureRange(predicted.low, predicted.high, one.unit)}
              </td>
              <td className={tableStyles["nowrap"]}>{one.inside === null ? "–" : one.inside ? "✓ inside the interval" : "✕ outside the interval"}</td>
              <td className={styles["test"]}>{testText(one)}</td>
            </tr>
          );
        })}
      </tbody>
    </Table>
  );
}

/** "6 % of before (2 to 14 %); p = 0.0001, permutation test of blocks". */
function testText({ ratio, p_value: p, test, decides }: Measure): string {
  const parts: string[] = [];
  if (ratio !== null) parts.push(`${times(ratio.expected)} of before (${joinRange(times(ratio.low), times(ratio.high))})`);
  if (p !== null) parts.push(`${p < 0.0001 ? "p < 0.0001" : `p = ${significant(p, 2)}`}${test === null ? "" : `, ${test}`}`);
  if (!decides) parts.push("does not decide the verdict");
  return parts.length === 0 ? "–" : parts.join("; ");
}

const times = (ratio: number): string => `${significant(ratio * 100, 2)} %`;
