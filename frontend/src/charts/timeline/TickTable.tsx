import { useMemo, useState, type ReactElement } from "react";

import { count, cpus, microseconds, MISSING } from "@/lib/format";
import { clock, duration } from "@/lib/time";
import type { TimeView } from "@/lib/timeView";
import { Table, tableStyles } from "@/ui/Table";

import { connectionStats, hasConnections } from "./connections";
import { servedNoun } from "./counts";
import { laneValue, overlappingMarks, valueAt } from "./lanes";
import { limitAt, type TimelineModel } from "./model";
import { indexRange, spanStats } from "./stats";
import styles from "./TickTable.module.css";

const MOST_ROWS = 200;

/** The same data as a table: every tick of the view, or only the notable ones if there are too many. */
export function TickTable({ model, view }: { model: TimelineModel; view: TimeView }): ReactElement {
  const [open, setOpen] = useState(false);
  return (
    <details className={styles["details"]} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Show as table</summary>
      {open && <Rows model={model} view={view} />}
    </details>
  );
}

function Rows({ model, view }: { model: TimelineModel; view: TimeView }): ReactElement {
  const { ticks, left } = useMemo(() => pick(model, view), [model, view]);
  const connections = hasConnections(model);
  const noun = servedNoun(model.served);
  // Answers are counted per 100 ms, however short the CPU ticks are.
  const per = model.rate.stepUs > model.cpu.stepUs ? ` in ${duration(model.rate.stepUs)}` : "";
  return (
    <>
      {left > 0 && <p className={styles["note"]}>{count(left)} quiet ticks not listed. Zoom in to list every tick.</p>}
      <Table label={`Ticks of ${duration(model.cpu.stepUs)}`}>
        <thead>
          <tr>
            <th scope="col">Local time</th>
            <th scope="col" className={tableStyles["number"]}>CPU</th>
            <th scope="col" className={tableStyles["number"]}>Limit</th>
            <th scope="col" className={tableStyles["number"]}>Throttled</th>
            <th scope="col" className={tableStyles["number"]}>GC</th>
            {connections && (
              <>
                <th scope="col" className={tableStyles["number"]}>Connections</th>
                <th scope="col" className={tableStyles["number"]}>Children</th>
                <th scope="col" className={tableStyles["number"]}>Accept queue</th>
              </>
            )}
            {model.lanes.flatMap((lane) =>
              lane.lines.map((line) => (
                <th key={`${lane.id} ${line.name}`} scope="col" className={tableStyles["number"]}>
                  {line.name}
                </th>
              )),
            )}
            {model.marks.length > 0 && <th scope="col">Events</th>}
            {model.served.length > 0 && (
              <>
                <th scope="col" className={tableStyles["number"]}>{`${noun.charAt(0).toUpperCase()}${noun.slice(1)}${per}`}</th>
                <th scope="col" className={tableStyles["number"]}>Slow answers{per}</th>
                <th scope="col" className={tableStyles["number"]}>Slowest answer{per}</th>
              </>
            )}
          </tr>
        </thead>
        <tbody>
          {ticks.map((tick) => {
            const stats = spanStats(model, tick);
            const network = connectionStats(model, tick);
            const limit = limitAt(model.limits, tick.fromUs);
            return (
              <tr key={tick.fromUs}>
                <th scope="row">{clock(tick.fromUs, 2)}</th>
                <td className={tableStyles["number"]}>{stats.cpuMax === null ? "not recorded" : cpus(stats.cpuMax)}</td>
                <td className={tableStyles["number"]}>{limit === null ? "none" : cpus(limit)}</td>
                <td className={tableStyles["number"]}>{stats.throttledUs > 0 ? duration(stats.throttledUs) : MISSING}</td>
                <td className={tableStyles["number"]}>{stats.gcUs > 0 ? duration(stats.gcUs) : MISSING}</td>
                {connections && (
                  <>
                    <td className={tableStyles["number"]}>{count(network.connections)}</td>
                    <td className={tableStyles["number"]}>{count(network.children)}</td>
                    <td className={tableStyles["number"]}>{count(network.backlog)}</td>
                  </>
                )}
                {model.lanes.flatMap((lane) =>
                  lane.lines.map((line) => (
                    <td key={`${lane.id} ${line.name}`} className={tableStyles["number"]}>
                      {laneValue(valueAt(lane, line, tick.fromUs), lane.unit)}
                    </td>
                  )),
                )}
                {model.marks.length > 0 && <td>{overlappingMarks(model, tick).map((mark) => mark.label).join(", ") || MISSING}</td>}
                {model.served.length > 0 && (
                  <>
                    <td className={tableStyles["number"]}>{stats.queries === null ? "not counted" : count(stats.queries)}</td>
                    <td className={tableStyles["number"]}>{count(stats.slow)}</td>
                    <td className={tableStyles["number"]}>{microseconds(stats.maxUs)}</td>
                  </>
                )}
              </tr>
            );
          })}
        </tbody>
      </Table>
    </>
  );
}

function pick(model: TimelineModel, view: TimeView): { ticks: TimeView[]; left: number } {
  const [first, last] = indexRange(model.cpu.tUs, view);
  const all = Array.from(model.cpu.tUs.slice(first, last), (fromUs) => ({ fromUs, toUs: fromUs + model.cpu.stepUs }));
  if (all.length <= MOST_ROWS) return { ticks: all, left: 0 };
  const notable = all.filter((tick) => {
    const stats = spanStats(model, tick);
    return (stats.slow ?? 0) > 0 || stats.overLimit > 0 || stats.throttledUs > 0 || stats.missingTicks > 0 || (connectionStats(model, tick).backlog ?? 0) > 0 || overlappingMarks(model, tick).length > 0;
  });
  const ticks = notable.slice(0, MOST_ROWS);
  return { ticks, left: all.length - ticks.length };
}
