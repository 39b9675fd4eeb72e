/** The data of a metric's chart as a table. Pure. */

import type { CsvTable } from "@/lib/csv";
import { toRfc3339 } from "@/lib/time";

export interface DrawnLine {
  readonly name: string;
  /** Null: it is not drawn. */
  readonly values: readonly (number | null)[] | null;
}

/** One row per point, in the unit of the chart. */
export function metricTable(name: string, unit: string, tUs: readonly number[], lines: readonly DrawnLine[]): CsvTable {
  const suffix = unit === "1" ? "" : ` (${unit})`;
  const drawn = lines.flatMap(({ name: line, values }) => (values === null ? [] : [{ column: `${name} ${line}${suffix}`, values }]));
  return {
    name,
    columns: ["Time (UTC)", ...drawn.map(({ column }) => column)],
    rows: () => tUs.map((us, at) => [toRfc3339(us), ...drawn.map(({ values }) => values[at] ?? null)]),
  };
}
