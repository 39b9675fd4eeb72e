import { useState, type ReactElement } from "react";

import type { CaptureProcess } from "@/api/captures";
import { count, milliseconds, MISSING, percent } from "@/lib/format";
import { Button } from "@/ui/Button";
import { Table, tableStyles } from "@/ui/Table";

import styles from "./Captures.module.css";
import { stateWords } from "./words";

const FIRST_ROWS = 12;

export interface ProcessTableProps {
  processes: readonly CaptureProcess[];
  more: number;
  /** Whether to mark processes of the subject: not if all of them are. */
  marksSubject: boolean;
  onOnly: (pid: number) => void;
}

/** Which processes used the CPU, and which waited. */
export function ProcessTable({ processes, more, marksSubject, onOnly }: ProcessTableProps): ReactElement {
  const [all, setAll] = useState(false);
  const rows = all ? processes : processes.slice(0, FIRST_ROWS);
  if (processes.length === 0) return <p className={styles["dim"]}>No processes ran in this window.</p>;
  return (
    <>
      <Table label="Processes of the capture">
        <thead>
          <tr>
            <th scope="col">Process</th>
            <th scope="col" className={tableStyles["number"]}>Kernel CPU</th>
            <th scope="col" className={tableStyles["number"]}>User CPU</th>
            <th scope="col" className={tableStyles["number"]}>Samples</th>
            <th scope="col" className={tableStyles["number"]}>Kernel samples</th>
            <th scope="col" className={tableStyles["number"]}>Threads</th>
            <th scope="col">State</th>
            <th scope="col">Cgroup</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((one) => (
            <tr key={one.pid}>
              <th scope="row" className={tableStyles["nowrap"]}>
                <button type="button" className={styles["only"]} onClick={() => onOnly(one.pid)} title="Show only its stacks">
                  {one.command}
                </button>{" "}
                <span className={tableStyles["dim"]}>{one.pid}</span>
              </th>
              <td className={tableStyles["number"]}>{milliseconds(one.system_ms)}</td>
              <td className={tableStyles["number"]}>{milliseconds(one.user_ms)}</td>
              <td className={tableStyles["number"]}>{count(one.samples)}</td>
              <td className={tableStyles["number"]}>{one.samples === 0 ? MISSING : percent(one.kernel_samples / one.samples)}</td>
              <td className={tableStyles["number"]}>{one.threads === 0 ? MISSING : count(one.threads)}</td>
              <td>{stateWords(one.states)}</td>
              <td className={styles["cgroup"]}>
                {one.cgroup}
                {marksSubject && one.of_subject && <span className={tableStyles["dim"]}> (subject)</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </Table>
      {processes.length > FIRST_ROWS && (
        <Button kind="quiet" onClick={() => setAll(!all)}>
          {all ? `Show the busiest ${FIRST_ROWS}` : `Show all ${count(processes.length)}`}
        </Button>
      )}
      {more > 0 && <p className={styles["dim"]}>{count(more)} more with less CPU are not listed.</p>}
    </>
  );
}
