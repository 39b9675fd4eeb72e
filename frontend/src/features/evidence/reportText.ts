/** Cells, axes, and verdicts of a report as text. Pure. */

import type { ReportChartData, ReportTableData } from "@/api/analyses";
import type { Schemas } from "@/api/client";
import { inUnit, MISSING, significant } from "@/lib/format";
import { clock } from "@/lib/time";

type Cell = ReportTableData["rows"][number][number];

/** A numeric column is right-aligned. */
export function isNumeric(rows: ReportTableData["rows"], column: number): boolean {
  return rows.length > 0 && rows.every((row) => typeof row[column] !== "string");
}

export function cellText(cell: Cell): string {
  if (cell === null) return MISSING;
  return typeof cell === "number" ? significant(cell, 4) : cell;
}

/** A chart value in its unit: "us" as a time, "1" without a unit, others with their name. */
export function valueText(value: number | null | undefined, unit: string): string {
  if (value == null) return MISSING;
  if (unit === "us" || unit === "bytes" || unit === "1") return inUnit(value, unit);
  return unit === "1/s" ? `${significant(value)}/s` : `${significant(value)} ${unit}`;
}

/** Position on the x axis: a time of day ("time" in the browser's zone, "clock" as in the file), or a number. */
export function positionText(x: number, unit: ReportChartData["x_unit"], digits = 1): string {
  if (unit === "time") return clock(x, digits);
  if (unit === "clock") return clock(x, digits, "utc");
  return unit === "queries/s" ? `${significant(x)}/s` : `${unit} ${significant(x)}`;
}

/** Groups causes that lack data for the same reason. */
export function grouped(items: readonly Schemas["NotEnoughData"][]): { reason: string; causes: string[] }[] {
  const found = new Map<string, string[]>();
  for (const item of items) found.set(item.reason, [...(found.get(item.reason) ?? []), item.cause]);
  return [...found].map(([reason, causes]) => ({ reason, causes }));
}
