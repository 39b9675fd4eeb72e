import { useRef, type ReactElement } from "react";

import type { PodStart, StartupPoint } from "@/api/startup";
import { ChangeList } from "@/charts/changes/ChangeList";
import { changeLines, linesInView } from "@/charts/changes/changes";
import { useWidth } from "@/charts/useWidth";
import { plural } from "@/lib/format";
import type { CsvTable } from "@/lib/csv";
import { clock, toRfc3339 } from "@/lib/time";

import { ExportMenu } from "@/widgets/export/ExportMenu";
import { useChangesOf } from "@/widgets/useChanges";

import { duration } from "./pieces";
import styles from "./Startup.module.css";

const HEIGHT_PX = 150;
const LEFT_PX = 46;
const BOTTOM_PX = 22;

/** Starts over time: each scrape's median as a dot, its slowest start as a tick above it, and the node's changes as lines. */
export function OverTime({ page, onSplit }: { page: PodStart; onSplit: (us: number) => void }): ReactElement {
  const host = useRef<HTMLDivElement>(null);
  const widthPx = useWidth(host);
  const view = { fromUs: page.from_us, toUs: page.to_us };
  const changes = useChangesOf(page.node === null ? [] : [page.node.id], view);
  const lines = changes && linesInView(changes, view);
  const top = 1.1 * Math.max(page.objective_us, ...page.over_time.map((point) => point.max_us));
  const across = (share: number): number => LEFT_PX + share * (widthPx - LEFT_PX - 8);
  const x = (us: number): number => across((us - page.from_us) / (page.to_us - page.from_us));
  const y = (us: number): number => 6 + (1 - us / top) * (HEIGHT_PX - BOTTOM_PX - 6);
  const limit = y(page.objective_us);
  return (
    <div ref={host} className={styles["overTime"]}>
      <ChangeList lines={lines} />
      {widthPx > 0 && (
        <svg width={widthPx} height={HEIGHT_PX} role="img" aria-label={summary(page)}>
          <line x1={LEFT_PX} x2={widthPx} y1={y(0)} y2={y(0)} className={styles["axis"]} />
          <line x1={LEFT_PX} x2={widthPx} y1={limit} y2={limit} className={styles["limit"]} />
          <text x={LEFT_PX - 6} y={limit + 4} textAnchor="end" className={styles["label"]}>
            {page.objective_us / 1e6} s
          </text>
          <text x={LEFT_PX - 6} y={y(0) + 4} textAnchor="end" className={styles["label"]}>
            0
          </text>
          <text x={LEFT_PX} y={HEIGHT_PX - 4} className={styles["label"]}>
            {clock(page.from_us)}
          </text>
          <text x={widthPx - 4} y={HEIGHT_PX - 4} textAnchor="end" className={styles["label"]}>
            {clock(page.to_us)}
          </text>
          {changeLines(changes ?? [], view).map((share, index) => (
            <line key={`${index} ${share}`} x1={across(share)} x2={across(share)} y1={6} y2={y(0)} className={styles["change"]} data-change />
          ))}
          {page.changes
            .filter(({ what }) => what === null)
            .map(({ at_us: atUs }) => (
              <line key={atUs} x1={x(atUs)} x2={x(atUs)} y1={6} y2={y(0)} className={styles["selected"]} />
            ))}
          {page.over_time.map((point) => (
            <g key={point.at_us} data-hot={point.late > 0} className={styles["point"]}>
              <title>{pointText(point)}</title>
              <line x1={x(point.at_us)} x2={x(point.at_us)} y1={y(point.p50_us)} y2={y(point.max_us)} />
              <circle cx={x(point.at_us)} cy={y(point.p50_us)} r={Math.min(7, 2.5 + Math.sqrt(point.starts) / 1.5)} />
            </g>
          ))}
        </svg>
      )}
      <div className={styles["below"]}>
        <label>
          Compare before and after
          <select value="" onChange={(event) => event.target.value !== "" && onSplit(Number(event.target.value))}>
            <option value="">select a time</option>
            {page.over_time.slice(0, -1).map((point) => (
              <option key={point.at_us} value={point.at_us}>
                {clock(point.at_us)}, {plural(point.starts, "start")}
              </option>
            ))}
          </select>
        </label>
        <ExportMenu kind="quiet" aria-label="Export starts over time" name="Pod starts over time" view={view} tables={[tableOf(page)]} notes={lines ?? []} picture={() => host.current} />
      </div>
    </div>
  );
}

const tableOf = (page: PodStart): CsvTable => ({
  name: "Pod starts",
  columns: ["Scrape (UTC)", "Starts", "Late starts", "Median (ms)", "Slowest (ms)"],
  rows: () => page.over_time.map((point) => [toRfc3339(point.at_us), point.starts, point.late, point.p50_us / 1000, point.max_us / 1000]),
});

const pointText = (point: StartupPoint): string =>
  `${clock(point.at_us)}: ${plural(point.starts, "pod")}, median ${duration(point.p50_us)}, slowest ${duration(point.max_us)}${point.late > 0 ? `, ${point.late} late` : ""}`;

const summary = (page: PodStart): string => `Starts over time, one dot per kubelet scrape: ${page.over_time.map(pointText).join("; ")}`;
