import type { ReactElement } from "react";

import type { StartupPod } from "@/api/startup";
import { bothZones, clock } from "@/lib/time";
import { Table, tableStyles } from "@/ui/Table";

import { duration } from "./pieces";
import styles from "./Startup.module.css";

/** Pods by name. */
export function PodTable({ pods, objectiveUs }: { pods: readonly StartupPod[]; objectiveUs: number }): ReactElement {
  return (
    <Table label="Slowest pods">
      <thead>
        <tr>
          <th scope="col">Pod</th>
          <th scope="col">Created</th>
          <th scope="col" className={tableStyles["number"]}>Start</th>
          <th scope="col" className={tableStyles["number"]}>Image pulls</th>
          <th scope="col" className={tableStyles["number"]}>Total</th>
        </tr>
      </thead>
      <tbody>
        {pods.map((pod) => (
          <tr key={`${pod.namespace}/${pod.pod} ${pod.created_us}`}>
            <th scope="row" className={styles["pod"]}>
              {pod.namespace}/{pod.pod}
            </th>
            <td title={bothZones(pod.created_us, 0)}>{clock(pod.created_us)}</td>
            <td className={tableStyles["number"]} data-hot={pod.start_us > objectiveUs}>
              {duration(pod.start_us)}
            </td>
            <td className={tableStyles["number"]}>{pod.image_pull_us === null ? "none" : duration(pod.image_pull_us)}</td>
            <td className={tableStyles["number"]}>{duration(pod.total_us)}</td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}
