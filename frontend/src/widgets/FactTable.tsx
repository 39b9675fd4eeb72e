import type { ReactElement } from "react";

import type { Fact } from "@/api/resources";
import { Time } from "@/ui/Time";

import { factText } from "./factText";
import styles from "./FactTable.module.css";

export interface FactTableProps {
  facts: readonly Fact[];
  caption?: string;
}

export function FactTable({ facts, caption }: FactTableProps): ReactElement | null {
  if (facts.length === 0) return null;
  return (
    <table className={styles["facts"]}>
      {caption !== undefined && <caption>{caption}</caption>}
      <thead className="visually-hidden">
        <tr>
          <th scope="col">Fact</th>
          <th scope="col">Value</th>
          <th scope="col">Since</th>
        </tr>
      </thead>
      <tbody>
        {facts.map((fact) => (
          <tr key={`${fact.name}-${fact.since}`}>
            <th scope="row" title={fact.meaning ?? undefined}>
              {fact.name}
            </th>
            <td>
              <FactValue fact={fact} />
            </td>
            <td className={styles["since"]}>
              <Time at={fact.since} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Long values (a Corefile) open on demand; others are shown with their unit. */
function FactValue({ fact }: { fact: Fact }): ReactElement {
  if (fact.value.length > 120 || fact.value.includes("\n")) {
    return (
      <details className={styles["long"]}>
        <summary>{fact.value.split("\n").length} lines</summary>
        <pre>{fact.value}</pre>
      </details>
    );
  }
  return <>{factText(fact)}</>;
}
