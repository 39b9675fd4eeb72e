import { Link } from "@tanstack/react-router";
import { useEffect, useRef, type ReactElement } from "react";

import type { IncidentSummary } from "@/api/incidents";
import { count, measure } from "@/lib/format";
import { Time } from "@/ui/Time";
import { SeverityChip, stateText } from "@/widgets/Severity";
import { MutedBy } from "@/widgets/mutes/MutedBy";
import { SubjectName } from "@/widgets/SubjectName";

import styles from "./IncidentList.module.css";

/** Shares of 0.1 % and of 30 % must both be visible: the meter is logarithmic from 0.1 % to 100 %. */
const meter = (ratio: number): number => Math.max(2, Math.min(100, ((Math.log10(Math.max(ratio, 0.001)) + 3) / 3) * 100));

/** "2.5 % slow", "p99 60 ms". */
const inShort = ({ value, unit, short }: IncidentSummary["figures"][number]): string =>
  unit === "ratio" ? `${measure(value, unit)} ${short}` : `${short} ${measure(value, unit)}`;

export function IncidentRow({ incident, current }: { incident: IncidentSummary; current: boolean }): ReactElement {
  const row = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (current) row.current?.scrollIntoView({ block: "nearest" });
  }, [current]);
  const [first, second] = incident.figures.filter(({ short }) => short !== "");
  const quiet = incident.muted || incident.resolved_at !== null;
  return (
    <li ref={row} className={styles["row"]} data-current={current} data-quiet={quiet}>
      <div>
        <SeverityChip severity={incident.severity} />
      </div>
      <div>
        <Link to="/incidents/$incidentId" params={{ incidentId: incident.id }} className={styles["title"]}>
          {incident.title}
        </Link>
        <p className={styles["sub"]}>
          <SubjectName subject={incident.subject} />
          {incident.subject.kind !== "node" && <span>{incident.subject.node}</span>}
          {incident.also_affected.length > 0 && <span>and {count(incident.also_affected.length)} more</span>}
          <span>{incident.cause_title}</span>
          {incident.state !== "open" && <span data-state={incident.state}>{stateText(incident.state)}</span>}
          <MutedBy incident={incident} />
        </p>
      </div>
      <div className={styles["share"]}>
        {first !== undefined && (
          <>
            {inShort(first)} {second !== undefined && <small>{inShort(second)}</small>}
            {first.unit === "ratio" && (
              <span className={styles["meter"]} aria-hidden="true">
                <i style={{ width: `${meter(first.value)}%` }} />
              </span>
            )}
          </>
        )}
      </div>
      <div className={styles["when"]}>
        <Time at={incident.onset_at} />
      </div>
    </li>
  );
}
