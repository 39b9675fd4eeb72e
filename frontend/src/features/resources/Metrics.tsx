import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";

import { METRIC_KINDS } from "@/api/catalogue.gen";
import { seriesQuery, type ResourceDetail, type SeriesChart } from "@/api/resources";
import { MetricChart } from "@/charts/MetricChart";
import { sentence } from "@/lib/text";
import type { TimeView } from "@/lib/timeView";
import { Async } from "@/widgets/Async";
import { CompareButton } from "@/widgets/CompareButton";

import styles from "./Resources.module.css";

const POINTS = 400;
/** The server takes this many metrics in one request. */
const MOST = 20;

const LINES = {
  gauge: ["lowest", "mean", "highest"],
  delta: ["lowest", "mean", "highest"],
  counter: ["lowest", "mean", "highest"],
  distribution: ["median", "p99", "highest"],
} as const;

/** Every metric of the resource that has data in the window. */
export function Metrics({ resource, window }: { resource: ResourceDetail; window: TimeView }): ReactElement {
  const series = useQuery(seriesQuery(resource.id, resource.metrics.slice(0, MOST), window, POINTS));
  if (resource.metrics.length === 0) return <p className={styles["dim"]}>No metrics for this kind of resource.</p>;
  return (
    <Async query={series} label="Loading metrics">
      {({ series: charts }) => {
        const present = charts.filter((chart) => chart.high.some((value) => value !== null));
        const absent = resource.metrics.filter((name) => !present.some((chart) => chart.metric === name));
        return (
          <>
            <div className={styles["charts"]}>
              {present.map((chart) => (
                <Chart key={chart.metric} chart={chart} window={window} />
              ))}
            </div>
            {absent.length > 0 && (
              <p className={styles["dim"]} style={{ marginTop: 12 }}>
                Not recorded here: {absent.map(titleOf).join(", ")}.
              </p>
            )}
          </>
        );
      }}
    </Async>
  );
}

function Chart({ chart, window }: { chart: SeriesChart; window: TimeView }): ReactElement {
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
      action={<CompareButton resourceId={chart.resource_id} view={window} label={`Compare ${titleOf(chart.metric)}`} />}
    />
  );
}

/** "cpu_usage_us" → "Cpu usage, per 100 ms": the unit is on the axis. */
function titleOf(name: string): string {
  const words = sentence(name.replace(/_(us|bytes)$/, ""));
  return METRIC_KINDS[name] === "delta" ? `${words} per tick` : words;
}
