import { useQuery } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";

import { podStartWhatIfQuery, type PodStart, type StartupVerifier, type StartupWhatIf } from "@/api/startup";
import { count, joinRange, percent } from "@/lib/format";
import { Button } from "@/ui/Button";
import { Table, tableStyles } from "@/ui/Table";
import { Async } from "@/widgets/Async";
import { IntervalBar } from "@/widgets/IntervalBar";

import { duration, percentileText } from "./pieces";
import styles from "./Startup.module.css";

/** The programs loaded for each pod, and the starts without the selected ones. */
export function WhatIf({ page, verifier, nodeId }: { page: PodStart; verifier: StartupVerifier; nodeId: number }): ReactElement {
  const unused = [...new Set(verifier.programs.filter((program) => program.unused !== null).map((program) => program.name))];
  const [chosen, setChosen] = useState<readonly string[]>(unused);
  const query = useQuery(podStartWhatIfQuery(nodeId, page.from_us, page.to_us, chosen));
  const toggle = (name: string): void => setChosen(chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name]);
  return (
    <div className={styles["whatIf"]}>
      <div>
        <Async query={query} label="Loading prediction">
          {(data) => <Predicted told={data} all={chosen.length === 0} />}
        </Async>
        {chosen.length > 0 && <Button onClick={() => setChosen([])}>Leave out the whole verifier</Button>}
      </div>
      <Programs verifier={verifier} chosen={chosen} onToggle={toggle} />
    </div>
  );
}

function Predicted({ told, all }: { told: StartupWhatIf; all: boolean }): ReactElement {
  const end = 1.05 * Math.max(...told.percentiles.map((item) => Math.max(item.before_us, item.after_us.high)));
  return (
    <>
      <p className={styles["lead"]}>
        Without {all ? "any time in the verifier" : told.programs.join(", ")} a start is {duration(told.removed_us)} shorter: {percent(told.late_ratio.expected)} would take more than 5 s (
        {joinRange(percent(told.late_ratio.low), percent(told.late_ratio.high))}), {percent(told.starts > 0 ? told.late / told.starts : null)} did.
      </p>
      <dl className={styles["predicted"]}>
        {told.percentiles.map((item) => (
          <div key={item.q}>
            <dt>{percentileText(item.q)}</dt>
            <dd>
              <IntervalBar interval={item.after_us} now={item.before_us} max={end} good={item.after_us.high < item.before_us} format={duration} nowLabel="measured" />
            </dd>
            <dd className={styles["arrow"]}>
              {duration(item.before_us)} → <strong>{duration(item.after_us.expected)}</strong>
            </dd>
          </div>
        ))}
      </dl>
      <p className={styles["foot"]}>The interval covers what histograms do not show: how long each pod waited for the verifier. Dotted line: measured.</p>
    </>
  );
}

function Programs({ verifier, chosen, onToggle }: { verifier: StartupVerifier; chosen: readonly string[]; onToggle: (name: string) => void }): ReactElement {
  return (
    <Table label={`Programs that ${verifier.command} loads for a pod`}>
      <thead>
        <tr>
          <th scope="col">Leave out</th>
          <th scope="col">Time per pod</th>
          <th scope="col" className={tableStyles["number"]}>Verified instructions</th>
          <th scope="col" className={tableStyles["number"]}>Loads</th>
        </tr>
      </thead>
      <tbody>
        {verifier.programs.map((program) => (
          <tr key={`${program.name} ${program.instructions}`}>
            <th scope="row" className={styles["program"]}>
              <label>
                <input type="checkbox" checked={chosen.includes(program.name)} onChange={() => onToggle(program.name)} />
                <span>{program.name}</span>
              </label>
              {program.unused !== null && <small>{program.unused}</small>}
              {program.failed > 0 && <small>{count(program.failed)} loads failed</small>}
            </th>
            <td>
              <span className={styles["share"]}>
                <i data-hot="true" style={{ width: `${program.share_ratio * 100}%` }} />
              </span>
              <span className={styles["shareText"]}>
                {duration(program.per_start_us)} <span className={tableStyles["dim"]}>{percent(program.share_ratio)}</span>
              </span>
            </td>
            <td className={tableStyles["number"]}>{count(program.verified_instructions)}</td>
            <td className={tableStyles["number"]}>{count(program.loads)}</td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}
