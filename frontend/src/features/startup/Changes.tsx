import type { ReactElement } from "react";

import type { StartupChange, StartupPercentiles } from "@/api/startup";
import { count, percent } from "@/lib/format";
import { bothZones, dateTime } from "@/lib/time";
import { Table, tableStyles } from "@/ui/Table";

import { duration } from "./pieces";

/** p50, p90, and p99 before and after a version change or a selected time. */
export function Changes({ changes }: { changes: readonly StartupChange[] }): ReactElement {
  return (
    <>
      {changes.map((change) => (
        <Table key={`${change.at_us} ${change.what}`} label={`Starts before and after ${title(change)}`}>
          <caption title={bothZones(change.at_us)}>
            {title(change)}, {dateTime(change.at_us)}
          </caption>
          <thead>
            <tr>
              <th scope="col">Starts</th>
              <th scope="col" className={tableStyles["number"]}>p50</th>
              <th scope="col" className={tableStyles["number"]}>p90</th>
              <th scope="col" className={tableStyles["number"]}>p99</th>
              <th scope="col" className={tableStyles["number"]}>Over 5 s</th>
            </tr>
          </thead>
          <tbody>
            <Row label="Before" figures={change.before} />
            <Row label="After" figures={change.after} />
          </tbody>
        </Table>
      ))}
    </>
  );
}

const title = (change: StartupChange): string => (change.what === null ? "Selected time" : `${change.what} ${change.old ?? "?"} → ${change.new ?? "?"}`);

function Row({ label, figures }: { label: string; figures: StartupPercentiles | null }): ReactElement {
  if (figures === null) {
    return (
      <tr>
        <th scope="row">{label}</th>
        <td colSpan={4}>no starts</td>
      </tr>
    );
  }
  return (
    <tr>
      <th scope="row">
        {label}, {count(figures.starts)}
      </th>
      <td className={tableStyles["number"]}>{duration(figures.p50_us)}</td>
      <td className={tableStyles["number"]}>{duration(figures.p90_us)}</td>
      <td className={tableStyles["number"]}>{duration(figures.p99_us)}</td>
      <td className={tableStyles["number"]}>
        {count(figures.late)} <span className={tableStyles["dim"]}>{percent(figures.late / figures.starts)}</span>
      </td>
    </tr>
  );
}
