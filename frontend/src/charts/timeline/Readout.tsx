import type { ReactElement } from "react";

import { count, cpus, microseconds, percent } from "@/lib/format";
import { clock, duration } from "@/lib/time";

import { limitAt, type TimelineModel } from "./model";
import styles from "./Timeline.module.css";
import { medianLatencyUs, slowestAnswer, spanStats, tickAt } from "./stats";

/** The numbers of the tick under the cursor. */
export function Readout({ model, us }: { model: TimelineModel; us: number }): ReactElement {
  const tick = tickAt(model, us) ?? { fromUs: us, toUs: us + model.cpu.stepUs };
  const stats = spanStats(model, tick);
  const slowest = slowestAnswer(model, tick);
  const limit = limitAt(model.limits, tick.fromUs);
  const cycle = model.gc.find((gc) => gc.fromUs < tick.toUs && gc.toUs > tick.fromUs);
  const throttled = model.throttled.find((span) => span.fromUs < tick.toUs && span.toUs > tick.fromUs);
  const over = limit !== null && stats.cpuMax !== null && stats.cpuMax > limit;
  return (
    <dl className={styles["readout"]}>
      <div className={styles["when"]}>
        <dt>{clock(tick.fromUs, 2)} local</dt>
        <dd>{clock(tick.fromUs, 2, "utc")} UTC</dd>
      </div>
      <div data-tone={over ? "hot" : undefined}>
        <dt>CPU in {duration(model.cpu.stepUs)}</dt>
        <dd>
          {stats.cpuMax === null ? "not recorded" : cpus(stats.cpuMax)}
          {limit !== null && stats.cpuMax !== null && ` = ${percent(stats.cpuMax / limit)} of limit`}
        </dd>
      </div>
      {throttled !== undefined && (
        <div data-tone="hot">
          <dt>Throttled</dt>
          <dd>{stats.throttledUs > 0 ? `${duration(stats.throttledUs)} credited` : throttled.label}</dd>
        </div>
      )}
      {cycle !== undefined && (
        <div data-tone="gc">
          <dt>GC cycle</dt>
          <dd>
            {duration(cycle.toUs - cycle.fromUs)}
            {cycle.attributes["pause_us"] !== undefined && `, paused ${microseconds(Number(cycle.attributes["pause_us"]))}`}
          </dd>
        </div>
      )}
      {slowest !== null && (
        <>
          <div>
            <dt>Answers{stats.complete ? "" : " kept"}</dt>
            <dd>
              {count(stats.answers)}, median {microseconds(medianLatencyUs(model, tick))}
            </dd>
          </div>
          <div data-tone={slowest.latencyUs > model.slowThresholdUs ? "hot" : undefined}>
            <dt>{stats.slow > 0 ? `${count(stats.slow)} slow, slowest` : "Slowest"}</dt>
            <dd>
              {microseconds(slowest.latencyUs)}
              {slowest.queueWaitUs !== null && slowest.queueWaitUs > 0 && `, ${microseconds(slowest.queueWaitUs)} of it in the socket queue`}
            </dd>
          </div>
          {slowest.name !== "" && (
            <div>
              <dt>Its name</dt>
              <dd>
                {slowest.name} · {slowest.result}
              </dd>
            </div>
          )}
        </>
      )}
    </dl>
  );
}
