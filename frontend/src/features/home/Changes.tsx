import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";

import { changesQuery, type Change } from "@/api/changes";
import { count, plural } from "@/lib/format";
import { Section } from "@/ui/Section";
import { Time } from "@/ui/Time";
import { Async } from "@/widgets/Async";

import styles from "./Home.module.css";
import { wayText } from "./words";

const SHOWN = 6;

/** Changes seen by collectors and reported by pipelines. */
export function Changes(): ReactElement {
  const changes = useQuery(changesQuery(SHOWN));
  return (
    <Section title="Changes" note="Last 24 h: limits, requests, images, versions, settings, scaling, and evictions seen by collectors, and changes reported by pipelines.">
      <Async query={changes} label="Loading changes">
        {(data) => (
          <>
            {data.items.length === 0 ? (
              <p className={styles["none"]}>No changes seen or reported.</p>
            ) : (
              <ul className={styles["lines"]}>
                {data.items.map((change) => (
                  <Line key={change.id ?? `${change.at} ${change.what} ${change.text}`} change={change} />
                ))}
              </ul>
            )}
            {(data.found > data.items.length || !data.complete) && (
              <p className={styles["none"]}>
                {data.found > data.items.length && `${count(data.found - data.items.length)} earlier changes are not shown. `}
                {!data.complete && "Only the most recent resources and reports were searched."}
              </p>
            )}
          </>
        )}
      </Async>
    </Section>
  );
}

function Line({ change }: { change: Change }): ReactElement {
  return (
    <li>
      {change.resource === null ? (
        <span className={styles["title"]}>{change.what}</span>
      ) : (
        <Link to="/resources/$resourceId" params={{ resourceId: change.resource.id }} className={styles["title"]}>
          {change.what}
        </Link>
      )}
      <p className={styles["steps"]}>{change.steps.length === 0 ? change.text : change.steps.map((step) => <span key={step.name}>{step.text}</span>)}</p>
      <p className={styles["sub"]}>
        {change.origin === "seen" ? <Seen change={change} /> : <Reported change={change} />}
        <Time at={change.at} />
      </p>
    </li>
  );
}

const NOUNS: Readonly<Record<string, readonly [string, string]>> = {
  process: ["process", "processes"],
  cgroup: ["container", "containers"],
  node: ["node", "nodes"],
};

function Seen({ change }: { change: Change }): ReactElement {
  const [one, many] = NOUNS[change.resource?.kind ?? ""] ?? ["resource", "resources"];
  const how = wayText(change);
  return (
    <>
      {how !== null && <span>{how}</span>}
      {change.resources > 1 && <span>{plural(change.resources, one, many)}</span>}
      {change.node !== null && change.resource?.kind !== "node" && <span>{change.node.name}</span>}
    </>
  );
}

function Reported({ change }: { change: Change }): ReactElement {
  return (
    <>
      <span>reported by {change.author ?? change.reported_by}</span>
      {change.link !== null && (
        <a href={change.link} target="_blank" rel="noreferrer">
          Go to {new URL(change.link).host}
        </a>
      )}
    </>
  );
}
