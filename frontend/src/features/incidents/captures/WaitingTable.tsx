import { useState, type ReactElement } from "react";

import type { CaptureWait } from "@/api/captures";
import { count } from "@/lib/format";
import { Button } from "@/ui/Button";
import { Table, tableStyles } from "@/ui/Table";

import styles from "./Captures.module.css";
import { stateName, waitWords } from "./words";

const FIRST_ROWS = 8;

export interface WaitingTableProps {
  waiting: readonly CaptureWait[];
  more: number;
  /** Whether to mark threads of the subject: on a node, all of them are. */
  marksSubject: boolean;
}

/** What the threads of servers waited in while these owed answers and gave none. */
export function WaitingTable({ waiting, more, marksSubject }: WaitingTableProps): ReactElement {
  const [all, setAll] = useState(false);
  const rows = all ? waiting : waiting.slice(0, FIRST_ROWS);
  return (
    <>
      <Table label="Waiting threads of the capture">
        <thead>
          <tr>
            <th scope="col">Waits in</th>
            <th scope="col">Kernel function</th>
            <th scope="col">State</th>
            <th scope="col" className={tableStyles["number"]}>Threads</th>
            <th scope="col" className={tableStyles["number"]}>Per look</th>
            <th scope="col">Process</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((one) => (
            <tr key={`${one.command} ${one.state} ${one.call} ${one.place}`}>
              <th scope="row">{waitWords(one)}</th>
              <td className={styles["cgroup"]} title={one.stack.length > 0 ? one.stack.join("\n") : undefined}>
                {one.place === "" ? "–" : one.place}
              </td>
              <td>{stateName(one.state)}</td>
              <td className={tableStyles["number"]} title={one.names.join(", ")}>
                {count(one.threads)}
              </td>
              <td className={tableStyles["number"]}>{count(one.times / Math.max(1, one.looks))}</td>
              <td className={tableStyles["nowrap"]}>
                {one.command}
                {marksSubject && one.of_subject && <span className={tableStyles["dim"]}> (subject)</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </Table>
      {waiting.length > FIRST_ROWS && (
        <Button kind="quiet" onClick={() => setAll(!all)}>
          {all ? `Show the most frequent ${FIRST_ROWS}` : `Show all ${count(waiting.length)}`}
        </Button>
      )}
      {more > 0 && <p className={styles["dim"]}>{count(more)} rarer ways to wait are not listed.</p>}
    </>
  );
}
