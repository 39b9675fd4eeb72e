/** Tables as comma-separated values (RFC 4180), for spreadsheets and scripts. */

export type Cell = string | number | null;

export interface CsvTable {
  readonly name: string;
  /** Including units. */
  readonly columns: readonly string[];
  /** Called on export. null and NaN become empty: not measured. */
  readonly rows: () => Iterable<readonly Cell[]>;
}

export function csvText({ columns, rows }: CsvTable): string {
  const lines = [columns.map(cell).join(",")];
  for (const row of rows()) lines.push(row.map(cell).join(","));
  return `${lines.join("\r\n")}\r\n`;
}

function cell(value: Cell): string {
  if (value === null) return "";
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  // Names come from the network: a spreadsheet must not interpret one as a formula.
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
