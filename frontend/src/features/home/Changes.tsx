import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";

import { changesQuery, type FleetChange } from "@/api/fleet";
import { count, plural } from "@/lib/format";
import { Section } from "@/ui/Section";
import { Time } from "@/ui/Time";
import { Async } from "@/widgets/Async";

import styles from "./Home.module.css";
import { stepText } from "./words";

const HOURS = 24;
const SHOWN = 6;

/** Limits, images, versions, and settings that changed, as the collectors saw them. */
export function Changes(): ReactElement {
  const changes = useQuery(changesQuery(HOURS, SHOWN));
  return (
    <Section title="Changes" note="Limits, images, versions, and settings of the last 24 h, as collectors saw them.">
      <Async query={changes} label="Loading changes">
        {(data) => (
          <>
            {data.items.length === 0 ? (
              <p className={styles["none"]}>No changes seen.</p>
            ) : (
              <ul className={styles["lines"]}>
                {data.items.map((change) => (
                  <Line key={`${change.at} ${change.subject.id} ${change.steps[0]?.name ?? ""}`} change={change} />
                ))}
              </ul>
            )}
            {(data.found > data.items.length || !data.complete) && (
              <p className={styles["none"]}>
                {data.found > data.items.length && `${count(data.found - data.items.length)} earlier changes are not shown. `}
                {!data.complete && "Only the resources seen last were looked at."}
              </p>
            )}
          </>
        )}
      </Async>
    </Section>
  );
}

function Line({ change }: { change: FleetChange }): ReactElement {
  return (
    <li>
      <Link to="/resources/$resourceId" params={{ resourceId: change.subject.id }} className={styles["title"]}>
        {change.workload ?? change.subject.name}
      </Link>
      <p className={styles["steps"]}>
        {change.steps.map((step) => (
          <span key={step.name}>{stepText(step)}</span>
        ))}
      </p>
      <p className={styles["sub"]}>
        <span>{change.rollout ? (change.subject.kind === "process" ? "restart" : "rollout") : "in place"}</span>
        {change.resources > 1 && <span>{plural(change.resources, change.subject.kind === "process" ? "process" : "container", change.subject.kind === "process" ? "processes" : "containers")}</span>}
        <span>{change.node.name}</span>
        <Time at={change.at} />
      </p>
    </li>
  );
}
