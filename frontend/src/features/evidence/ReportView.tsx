import { useQuery } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";

import type { Analysis, Report, ReportFact } from "@/api/analyses";
import { causesQuery } from "@/api/causes";
import type { Schemas } from "@/api/client";
import { count } from "@/lib/format";
import { Button } from "@/ui/Button";
import { Section } from "@/ui/Section";
import { Table, tableStyles } from "@/ui/Table";
import { Evidence } from "@/widgets/Evidence";
import { Figures } from "@/widgets/Figures";
import { FixList } from "@/widgets/FixList";

import styles from "./Evidence.module.css";
import { ReportChart } from "./ReportChart";
import { cellText, grouped, isNumeric } from "./reportText";

const FEW_ROWS = 10;

/** The result of a file: causes first, then facts, charts, tables, and what it cannot show. */
export function ReportView({ report, figures }: { report: Report; figures: Analysis["figures"] }): ReactElement {
  return (
    <>
      <p className={styles["summary"]}>{report.summary}</p>
      {report.findings.length > 0 && (
        <Section title="Causes found">
          {report.findings.map((found, index) => (
            <Finding key={`${found.cause} ${found.title}`} found={found} figures={figures[index] ?? []} />
          ))}
        </Section>
      )}
      <Section title={report.kind === "dns_bench" ? "What the test shows" : "What the file shows"}>
        <dl className={styles["facts"]}>
          {report.facts.map((fact) => (
            <FactRow key={fact.id} fact={fact} />
          ))}
        </dl>
      </Section>
      {report.charts.length > 0 && (
        <Section title="Charts">
          <div className={styles["charts"]}>
            {report.charts.map((chart) => (
              <ReportChart key={chart.id} chart={chart} />
            ))}
          </div>
        </Section>
      )}
      <Verdicts report={report} />
      {report.tables.map((table) => (
        <Section key={table.id} title={table.title} note={table.left_out > 0 ? `${count(table.left_out)} more rows not shown.` : undefined}>
          <ReportTable table={table} />
        </Section>
      ))}
      {report.notes.length > 0 && (
        <Section title="Notes">
          <ul className={styles["verdicts"]}>
            {report.notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}

function Finding({ found, figures }: { found: Schemas["Found"]; figures: Analysis["figures"][number] }): ReactElement {
  return (
    <article className={styles["finding"]}>
      <h3>{found.title}</h3>
      <p>{found.summary}</p>
      <Figures figures={figures} />
      <Evidence evidence={found.evidence} />
      {found.fixes.length > 0 && (
        <>
          <h4>What to change</h4>
          <FixList fixes={found.fixes} figures={figures} />
        </>
      )}
    </article>
  );
}

function FactRow({ fact }: { fact: ReportFact }): ReactElement {
  return (
    <div data-level={fact.level}>
      <dt>{fact.label}</dt>
      <dd>
        {fact.level === "attention" && (
          <span className={styles["mark"]}>
            <span aria-hidden="true">▲</span>
            <span className="visually-hidden">Attention:</span>
          </span>
        )}
        {fact.value}
      </dd>
      {fact.detail !== null && <dd className={styles["detail"]}>{fact.detail}</dd>}
    </div>
  );
}

function ReportTable({ table }: { table: Schemas["Table"] }): ReactElement {
  const numeric = table.columns.map((_, column) => isNumeric(table.rows, column));
  const [all, setAll] = useState(false);
  // A few more are shown at once: a button for two rows is not worth it.
  const rows = all || table.rows.length <= FEW_ROWS + 5 ? table.rows : table.rows.slice(0, FEW_ROWS);
  return (
    <>
      <Table label={table.title}>
        <thead>
          <tr>
            {table.columns.map((column, index) => (
              <th key={column} scope="col" className={numeric[index] === true ? tableStyles["number"] : undefined}>
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, number) => (
            <tr key={number}>
              {row.map((cell, index) => (
                <td key={table.columns[index]} className={numeric[index] === true ? tableStyles["number"] : styles["text"]}>
                  {cellText(cell)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </Table>
      {rows.length < table.rows.length && (
        <Button kind="quiet" aria-label={`Show all ${table.rows.length} rows of ${table.title}`} onClick={() => setAll(true)}>
          Show all {table.rows.length}
        </Button>
      )}
    </>
  );
}

function Verdicts({ report }: { report: Report }): ReactElement {
  const { data } = useQuery(causesQuery());
  const title = (cause: string): string => data?.find((one) => one.id === cause)?.title ?? cause;
  return (
    <>
      {report.not_enough_data.length > 0 && (
        <Section title="Not enough data" note="Causes that this file can neither show nor rule out.">
          <ul className={styles["verdicts"]}>
            {grouped(report.not_enough_data).map(({ reason, causes }) => (
              <li key={reason}>
                <strong>{causes.map(title).join(" · ")}</strong>
                <p>{reason}</p>
              </li>
            ))}
          </ul>
        </Section>
      )}
      {report.not_found.length > 0 && (
        <Section title="Not found" note="Causes that the file contradicts or shows no sign of.">
          <ul className={styles["verdicts"]}>
            {report.not_found.map((one) => (
              <li key={one.cause}>
                <strong>{title(one.cause)}</strong>
                <p>{one.reason}</p>
              </li>
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}
