import { Link } from "@tanstack/react-router";
import { useMemo, type ReactElement, type ReactNode } from "react";

import type { MetricCharts, MetricSeries } from "@/api/metrics";
import { linesInView, type ChartChange } from "@/charts/changes/changes";
import { MetricChart } from "@/charts/MetricChart";
import { labelsText, unitOf } from "@/lib/labels";
import type { TimeView } from "@/lib/timeView";
import { FigureExport } from "@/widgets/export/ExportMenu";

import { metricTable } from "./metricTable";

type Line = MetricSeries["lines"][number];

const NAMES = { raw: ["lowest", "mean", "highest"], rate: ["", "rate", ""], quantiles: ["p50", "p90", "p99"] } as const;

export interface MetricFigureProps {
  title: string;
  page: MetricCharts;
  series: MetricSeries;
  changes: readonly ChartChange[];
  action?: ReactNode;
}

/** One label set of a metric over time, with a note if it has no samples in the window. Its image has all labels. */
export function MetricFigure({ title, page, series, changes, action }: MetricFigureProps): ReactElement {
  const window = useMemo<TimeView>(() => ({ fromUs: page.from_us, toUs: page.to_us }), [page.from_us, page.to_us]);
  const count = series.lines[0]?.values.length ?? 0;
  const tUs = useMemo(() => Array.from({ length: count }, (_, at) => page.start_us + at * page.step_us), [count, page.start_us, page.step_us]);
  const by = (name: Line["name"]): Line["values"] => series.lines.find((line) => line.name === name)?.values ?? [];
  const [low, middle, high] = page.view === "quantiles" ? [by("p50"), by("p90"), by("p99")] : page.view === "rate" ? [null, by("rate"), null] : oneLine(by("low"), by("mean"), by("high"));
  const unit = unitOf(page.unit, page.view);
  const names = page.view === "raw" && low === null ? (["", "value", ""] as const) : NAMES[page.view];
  const table = metricTable(page.name, unit, tUs, [
    { name: names[0], values: low },
    { name: names[1], values: middle },
    { name: names[2], values: high },
  ]);
  return (
    <MetricChart
      title={title}
      unit={unit}
      meaning={page.help ?? page.name}
      tUs={tUs}
      names={names}
      low={low}
      middle={middle}
      high={high}
      window={window}
      changes={changes}
      action={
        <>
          {action}
          <FigureExport name={title === page.name ? title : `${page.name} ${title}`} view={window} table={table} notes={[labelsText(series.labels), ...linesInView(changes, window)]} />
        </>
      }
    />
  );
}

/** If each point has one sample, there is no band to draw. */
function oneLine(low: Line["values"], mean: Line["values"], high: Line["values"]): [Line["values"] | null, Line["values"], Line["values"] | null] {
  return low.every((value, at) => value === high[at]) ? [null, mean, null] : [low, mean, high];
}

/** The resource of a label set's samples. */
export function MetricOwner({ series }: { series: MetricSeries }): ReactElement {
  return (
    <Link to="/resources/$resourceId" params={{ resourceId: series.resource.id }}>
      {series.resource.name}
    </Link>
  );
}
