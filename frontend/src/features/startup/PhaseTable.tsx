import type { ReactElement } from "react";

import type { StartupPart } from "@/api/startup";
import { count, percent } from "@/lib/format";
import { Table, tableStyles } from "@/ui/Table";

import { duration, rows } from "./pieces";
import styles from "./Startup.module.css";

/** Every phase with its own percentiles; parts of a phase are listed below it. */
export function PhaseTable({ parts }: { parts: readonly StartupPart[] }): ReactElement {
  const most = Math.max(...parts.map((part) => part.mean_us), 1);
  return (
    <Table label="Phases of a pod start">
      <thead>
        <tr>
          <th scope="col">Phase</th>
          <th scope="col">Mean</th>
          <th scope="col" className={tableStyles["number"]}>p50</th>
          <th scope="col" className={tableStyles["number"]}>p90</th>
          <th scope="col" className={tableStyles["number"]}>p99</th>
          <th scope="col" className={tableStyles["number"]}>Operations</th>
        </tr>
      </thead>
      <tbody>
        {rows(parts).map(({ part, depth }) => (
          <tr key={part.id}>
            <th scope="row" className={styles["phase"]} style={{ paddingLeft: `${8 + depth * 18}px` }}>
              {depth > 0 && <span aria-hidden="true">└ </span>}
              {part.title}
              {!part.in_objective && <small> not part of the objective</small>}
            </th>
            <td>
              <span className={styles["share"]}>
                <i data-hot={part.id === "verifier"} data-out={!part.in_objective} style={{ width: `${(part.mean_us / most) * 100}%` }} />
              </span>
              <span className={styles["shareText"]}>
                {duration(part.mean_us)} <span className={tableStyles["dim"]}>{percent(part.share_ratio)}</span>
              </span>
            </td>
            <td className={tableStyles["number"]}>{duration(part.p50_us)}</td>
            <td className={tableStyles["number"]}>{duration(part.p90_us)}</td>
            <td className={tableStyles["number"]}>{duration(part.p99_us)}</td>
            <td className={tableStyles["number"]}>{count(part.operations)}</td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}
