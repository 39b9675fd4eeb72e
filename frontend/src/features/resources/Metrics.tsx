import { memo, type ReactElement } from "react";

import { METRIC_KINDS } from "@/api/catalogue.gen";
import type { ResourceDetail, SeriesChart } from "@/api/resources";
import { ChangeList } from "@/charts/changes/ChangeList";
import { linesInView, type ChartChange } from "@/charts/changes/changes";
import { MetricChart } from "@/charts/MetricChart";
import type { CsvTable } from "@/lib/csv";
import { plural } from "@/lib/format";
import { sentence } from "@/lib/text";
import { toRfc3339 } from "@/lib/time";
import type { TimeView } from "@/lib/timeView";
import { Async } from "@/widgets/Async";
import { CompareButton } from "@/widgets/CompareButton";
import { FigureExport } from "@/widgets/export/ExportMenu";
import { useSeries } from "@/widgets/useSeries";

import styles from "./Resources.module.css";

const NONE: readonly ChartChange[] = [];
const POINTS = 400;

const LINES = {
  gauge: ["lowest", "mean", "highest"],
  delta: ["lowest", "mean", "highest"],
  counter: ["lowest", "mean", "highest"],
  distribution: ["median", "p99", "highest"],
} as const;

interface MetricsProps {
  resource: ResourceDetail;
  window: TimeView;
  changes: readonly ChartChange[] | null | undefined;
}

/** All metrics of the resource with data in the window; they do not follow each frame of the timeline above. */
export const Metrics = memo(function Metrics({ resource, window, changes }: MetricsProps): ReactElement {
  const series = useSeries(resource.id, resource.metrics, window, POINTS);
  if (resource.metrics.length === 0) return <p className={styles["dim"]}>No metrics for this kind of resource.</p>;
  return (
    <Async query={series} label="Loading metrics">
      {(charts) => {
        const present = charts.filter((chart) => chart.high.some((value) => value !== null));
        const absent = resource.metrics.filter((name) => !present.some((chart) => chart.metric === name));
        return (
          <>
            {present.length > 0 && <ChangeList lines={changes === undefined ? undefined : linesInView(changes, window)} />}
            <div className={styles["charts"]}>
              {present.map((chart) => (
                <Chart key={chart.metric} resource={resource} chart={chart} window={window} changes={changes ?? NONE} />
              ))}
            </div>
            {absent.length > 0 && (
              <details className={styles["absent"]}>
                <summary>{plural(absent.length, "metric")} not recorded here</summary>
                <p>{absent.map(titleOf).join(", ")}</p>
              </details>
            )}
          </>
        );
      }}
    </Async>
  );
});

function Chart({ resource, chart, window, changes }: { resource: ResourceDetail; chart: SeriesChart; window: TimeView; changes: readonly ChartChange[] }): ReactElement {
  return (
    <MetricChart
      title={titleOf(chart.metric)}
      unit={chart.unit}
      meaning={chart.meaning}
      tUs={chart.t_us}
      names={LINES[chart.kind]}
      low={chart.low}
      middle={chart.mean}
      high={chart.high}
      window={window}
      changes={changes}
      action={
        <span>
          <CompareButton resourceId={chart.resource_id} view={window} label={`Compare ${titleOf(chart.metric)}`} />
          <FigureExport name={`${resource.name} ${titleOf(chart.metric)}`} view={window} table={tableOf(chart)} notes={linesInView(changes, window)} />
        </span>
      }
    />
  );
}

/** The drawn data, in the metric's unit. */
function tableOf(chart: SeriesChart): CsvTable {
  const names = LINES[chart.kind];
  const unit = chart.unit === "1" || chart.unit === "" ? "" : ` (${chart.unit})`;
  return {
    name: titleOf(chart.metric),
    columns: ["Time (UTC)", ...names.map((name) => `${chart.metric} ${name}${unit}`)],
    rows: () => chart.t_us.map((us, i) => [toRfc3339(us), chart.low[i] ?? null, chart.mean[i] ?? null, chart.high[i] ?? null]),
  };
}

/** "cpu_usage_us" → "Cpu usage, per 100 ms": the unit is on the axis. */
function titleOf(name: string): string {
  const words = sentence(name.replace(/_(us|bytes)$/, ""));
  return METRIC_KINDS[name] === "delta" ? `${words} per tick` : words;
}
