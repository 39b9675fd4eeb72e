import { useRef, type ReactElement } from "react";

import { pngOf } from "@/charts/exportPng";
import { csvText, type CsvTable } from "@/lib/csv";
import { download, fileName } from "@/lib/download";
import { toRfc3339 } from "@/lib/time";
import type { TimeView } from "@/lib/timeView";
import { Button, type ButtonProps } from "@/ui/Button";
import { Menu } from "@/ui/Menu";
import { useToast } from "@/ui/Toast";

export interface ExportMenuProps extends Pick<ButtonProps, "kind" | "aria-label"> {
  /** Name of the chart. */
  name: string;
  /** The visible time; null if the chart has no time axis. */
  view: TimeView | null;
  /** The drawn data of that time. */
  tables: readonly CsvTable[];
  /** The chart's element; null before it is rendered. */
  picture: () => Element | null;
  /** Text that belongs to the chart but is elsewhere on the page. */
  notes?: readonly string[];
}

/** Exports the chart as an image and its data as tables. */
export function ExportMenu({ name, view, tables, picture, notes = [], kind = "plain", "aria-label": label }: ExportMenuProps): ReactElement {
  const toast = useToast();
  const stem = view === null ? [name] : [name, toRfc3339(view.fromUs).slice(0, 19).replaceAll(":", "-")];
  const savePng = async (): Promise<void> => {
    const element = picture();
    if (element === null) return;
    try {
      download(fileName(stem, "png"), await pngOf(element, { title: name, detail: view === null ? "" : `${toRfc3339(view.fromUs)} to ${toRfc3339(view.toUs)}; axis in ${new Intl.DateTimeFormat().resolvedOptions().timeZone}`, notes }));
      toast({ text: "Image downloaded" });
    } catch (error) {
      toast({ text: `The image cannot be created. ${error instanceof Error ? error.message : String(error)}`, tone: "error" });
    }
  };
  const saveCsv = (table: CsvTable): void => {
    download(fileName([...stem, table.name], "csv"), new Blob([csvText(table)], { type: "text/csv" }));
    toast({ text: `CSV downloaded: ${table.name}` });
  };
  return (
    <Menu
      trigger={
        <Button kind={kind} aria-label={label}>
          Export
        </Button>
      }
    >
      {({ MenuItem, MenuLabel }) => (
        <>
          <MenuItem onSelect={() => void savePng()}>Image (PNG)</MenuItem>
          <MenuLabel>Chart data (CSV)</MenuLabel>
          {tables.map((table) => (
            <MenuItem key={table.name} onSelect={() => saveCsv(table)}>
              {table.name}
            </MenuItem>
          ))}
        </>
      )}
    </Menu>
  );
}

/** The same for the enclosing figure element. */
export function FigureExport({ name, view, table, notes = [] }: { name: string; view: TimeView | null; table: CsvTable; notes?: readonly string[] }): ReactElement {
  const place = useRef<HTMLSpanElement>(null);
  return (
    <span ref={place}>
      <ExportMenu kind="quiet" aria-label={`Export ${name}`} name={name} view={view} tables={[table]} notes={notes} picture={() => place.current?.closest("figure") ?? null} />
    </span>
  );
}
