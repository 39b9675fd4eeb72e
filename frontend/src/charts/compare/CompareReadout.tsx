import type { ReactElement } from "react";

import { lowerBound } from "@/lib/binary";
import { cpus, microseconds } from "@/lib/format";
import { clock, duration } from "@/lib/time";
import { spanStats, tickAt } from "@/charts/timeline/stats";
import { limitAt, type TimelineModel } from "@/charts/timeline/model";

import styles from "./Compare.module.css";
import type { Run } from "./run";

/** The same tick in every run. */
export function CompareReadout({ runs, us }: { runs: readonly Run[]; us: number }): ReactElement {
  return (
    <table className={styles["readout"]}>
      <thead>
        <tr>
          <th scope="col">{clock(us, 1)}</th>
          <th scope="col">CPU</th>
          <th scope="col">throttled</th>
          <th scope="col">slowest</th>
        </tr>
      </thead>
      <tbody>
        {runs.map(({ title, model }, index) => {
          const tick = tickOf(model, us);
          return (
            <tr key={index}>
              <th scope="row">{index === 0 ? "recorded" : title.startsWith("What if") ? "what if" : title}</th>
              <td data-hot={tick.over}>{cpus(tick.cpus)}</td>
              <td data-hot={tick.throttledUs > 0}>{tick.throttledUs > 0 ? duration(tick.throttledUs) : "no"}</td>
              <td data-hot={tick.slowestUs !== null && tick.slowestUs > model.slowThresholdUs}>{microseconds(tick.slowestUs)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function tickOf(model: TimelineModel, us: number): { cpus: number | null; over: boolean; throttledUs: number; slowestUs: number | null } {
  const tick = tickAt(model, us);
  if (tick === null) return { cpus: null, over: false, throttledUs: 0, slowestUs: null };
  const stats = spanStats(model, tick);
  const limit = limitAt(model.limits, tick.fromUs);
  const slowest = model.rate.maxUs[lowerBound(model.rate.tUs, tick.fromUs)] ?? NaN;
  return {
    cpus: stats.cpuMax,
    over: limit !== null && stats.cpuMax !== null && stats.cpuMax > limit,
    throttledUs: stats.throttledUs,
    slowestUs: Number.isNaN(slowest) ? null : slowest,
  };
}
