import type { ReactElement } from "react";

import { count, cpus, microseconds, percent } from "@/lib/format";
import { clock, duration } from "@/lib/time";
import type { TimeView } from "@/lib/timeView";

import { connectionStats } from "./connections";
import { servedNoun } from "./counts";
import { laneValue, overlappingMarks, valueAt } from "./lanes";
import type { TimelineModel } from "./model";
import { readoutOf, type TickReadout } from "./readout";
import styles from "./Timeline.module.css";

/** The numbers of the tick under the cursor. */
export function Readout({ model, us }: { model: TimelineModel; us: number }): ReactElement {
  const { tick, cpu, limit, stalls, cycles, answers } = readoutOf(model, us);
  const ran = cpu === null ? null : cpu.toUs - cpu.fromUs;
  return (
    <dl className={styles["readout"]}>
      <div className={styles["when"]}>
        <dt>{clock(tick.fromUs, 2)} local</dt>
        <dd>{clock(tick.fromUs, 2, "utc")} UTC</dd>
      </div>
      <div data-tone={cpu?.over === true ? "hot" : undefined}>
        <dt>{cpuTitle(model.cpu, ran)}</dt>
        <dd>
          {cpu === null ? "not recorded" : cpus(cpu.cpus)}
          {limit !== null && cpu !== null && ` = ${percent(cpu.cpus / limit)} of limit`}
        </dd>
      </div>
      {stalls.map((stall) => (
        <div key={stall.fromUs} data-tone="hot">
          <dt>Throttled</dt>
          <dd>
            {duration(stall.stoppedUs)}
            {stall.periods > 1 ? ` in ${count(stall.periods)} periods` : ` until ${clock(stall.toUs, 2)}`}
          </dd>
        </div>
      ))}
      {cycles.slice(0, MOST_CYCLES).map((cycle) => (
        <div key={`${cycle.fromUs} ${cycle.toUs}`} data-tone="gc">
          <dt>GC cycle</dt>
          <dd>
            {duration(cycle.toUs - cycle.fromUs)}
            {cycle.attributes["pause_us"] !== undefined && `, paused ${microseconds(Number(cycle.attributes["pause_us"]))}`}
          </dd>
        </div>
      ))}
      {cycles.length > MOST_CYCLES && (
        <div data-tone="gc">
          <dt>GC cycles</dt>
          <dd>{count(cycles.length)} in all</dd>
        </div>
      )}
      <Lanes model={model} tick={tick} us={us} />
      <Connections model={model} tick={tick} />
      {answers !== null && <Answers model={model} answers={answers} />}
    </dl>
  );
}

const MOST_CYCLES = 3;

/** For a point that covers several ticks, the highest one is shown. */
const cpuTitle = ({ stepUs, tickUs }: TimelineModel["cpu"], ranUs: number | null): string =>
  tickUs < stepUs ? `CPU, highest ${duration(tickUs)}` : `CPU in ${duration(ranUs ?? stepUs)}`;

/** Counts cover all answers, whether single ones were kept or not. */
function Answers({ model, answers }: { model: TimelineModel; answers: NonNullable<TickReadout["answers"]> }): ReactElement {
  const { counts, complete, slowest } = answers;
  const noun = servedNoun(model.served);
  const title = `${noun.charAt(0).toUpperCase()}${noun.slice(1)}`;
  const maxUs = counts?.maxUs ?? null;
  // If not all answers were kept, a dropped one can have been slower than the kept ones.
  const counted = maxUs !== null && (slowest === null || (!complete && maxUs > slowest.latencyUs));
  const shownUs = counted ? maxUs : (slowest?.latencyUs ?? null);
  return (
    <>
      <div>
        <dt>{counts === null ? title : `${title} in ${duration(counts.of.toUs - counts.of.fromUs)}`}</dt>
        <dd>
          {counts === null || counts.queries === null ? "not counted" : count(counts.queries)}
          {counts !== null && counts.p50Us !== null && `, median answer ${microseconds(counts.p50Us)}`}
        </dd>
      </div>
      {counts !== null && counts.slow !== null && counts.slow > 0 && (
        <div data-tone="hot">
          <dt>Slow answers in {duration(counts.of.toUs - counts.of.fromUs)}</dt>
          <dd>{count(counts.slow)}</dd>
        </div>
      )}
      {shownUs !== null && (
        <div data-tone={shownUs > model.slowThresholdUs ? "hot" : undefined}>
          <dt>Slowest answer{counted && counts !== null ? ` in ${duration(counts.of.toUs - counts.of.fromUs)}` : ""}</dt>
          <dd>
            {microseconds(shownUs)}
            {!counted && slowest !== null && slowest.queueWaitUs !== null && slowest.queueWaitUs > 0 && `, ${microseconds(slowest.queueWaitUs)} of it in the receive queue`}
          </dd>
        </div>
      )}
      {!counted && slowest !== null && slowest.name !== "" && (
        <div>
          <dt>Name</dt>
          <dd>
            {slowest.name} · {slowest.result}
          </dd>
        </div>
      )}
      {!complete && (
        <div>
          <dt>Single answers</dt>
          <dd>{model.answers.truncated > 0 ? "not all drawn" : "not kept here"}</dd>
        </div>
      )}
    </>
  );
}

/** Events in the tick, and the figures of its lanes. */
function Lanes({ model, tick, us }: { model: TimelineModel; tick: TimeView; us: number }): ReactElement {
  return (
    <>
      {overlappingMarks(model, tick).map((mark, index) => (
        // Two events can be identical.
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

/** Measured connection figures; nothing if none are measured. */
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
