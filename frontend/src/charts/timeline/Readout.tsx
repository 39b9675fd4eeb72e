import type { ReactElement } from "react";

import { count, cpus, microseconds, percent } from "@/lib/format";
import { clock, duration } from "@/lib/time";
import type { TimeView } from "@/lib/timeView";

import { connectionStats } from "./connections";
import { laneValue, overlappingMarks, valueAt } from "./lanes";
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
      <Lanes model={model} tick={tick} us={us} />
      <Connections model={model} tick={tick} />
      {slowest !== null && (
        <>
          <div>
            <dt>{stats.complete ? "Answers" : "Recorded answers"}</dt>
            <dd>
              {count(stats.answers)}, median {microseconds(medianLatencyUs(model, tick))}
            </dd>
          </div>
          <div data-tone={slowest.latencyUs > model.slowThresholdUs ? "hot" : undefined}>
            <dt>{stats.slow > 0 ? `${count(stats.slow)} slow, slowest` : "Slowest"}</dt>
            <dd>
              {microseconds(slowest.latencyUs)}
              {slowest.queueWaitUs !== null && slowest.queueWaitUs > 0 && `, ${microseconds(slowest.queueWaitUs)} of it in the receive queue`}
            </dd>
          </div>
          {slowest.name !== "" && (
            <div>
              <dt>Name</dt>
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

/** What happened in the tick, and the figures of its lanes. */
function Lanes({ model, tick, us }: { model: TimelineModel; tick: TimeView; us: number }): ReactElement {
  return (
    <>
      {overlappingMarks(model, tick).map((mark, index) => (
        // Two events can be the same in everything.
        <div key={`${mark.fromUs} ${index}`} data-tone={mark.kind === "memory.oom_kill" ? "hot" : undefined}>
          <dt>{mark.toUs > mark.fromUs ? duration(mark.toUs - mark.fromUs) : "Event"}</dt>
          <dd>{mark.label}</dd>
        </div>
      ))}
      {model.lanes.flatMap((lane) =>
        lane.lines.map((line) => {
          const value = valueAt(lane, line, us);
          return (
            value !== null && (
              <div key={`${lane.id} ${line.name}`}>
                <dt>{line.name}</dt>
                <dd>{laneValue(value, lane.unit)}</dd>
              </div>
            )
          );
        }),
      )}
    </>
  );
}

/** What is measured of connections; nothing where nothing is. */
function Connections({ model, tick }: { model: TimelineModel; tick: TimeView }): ReactElement {
  const stats = connectionStats(model, tick);
  const full = stats.limit !== null && stats.children !== null && stats.children >= stats.limit;
  const rows: readonly (readonly [string, string, boolean])[] = [
    ...(stats.children === null ? [] : [["Children", `${count(stats.children)}${stats.limit === null ? "" : ` of ${count(stats.limit)}${full ? ", limit reached" : ""}`}`, false] as const]),
    ...(stats.connections === null || stats.connections === 0
      ? []
      : [["Connections", `${count(stats.connections)}${stats.idle === null || stats.idle === 0 ? "" : `, ${count(stats.idle)} idle over 1 s`}`, false] as const]),
    ...(stats.backlog === null || stats.backlog === 0 ? [] : [["Accept queue", count(stats.backlog), true] as const]),
    ...(stats.dropped === null || stats.dropped === 0 ? [] : [["Dropped", count(stats.dropped), true] as const]),
    ...(stats.upstream === null || stats.upstream === 0
      ? []
      : [["Upstream connections", `${count(stats.upstream)}${stats.upstreamIdle === null || stats.upstreamIdle === 0 ? "" : `, ${count(stats.upstreamIdle)} idle over 1 s`}`, false] as const]),
    ...(stats.errorLines === 0 ? [] : [["Error lines", count(stats.errorLines), true] as const]),
  ];
  return (
    <>
      {rows.map(([name, value, hot]) => (
        <div key={name} data-tone={hot ? "hot" : undefined}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </>
  );
}
