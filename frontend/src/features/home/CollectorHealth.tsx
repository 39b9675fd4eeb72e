import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";

import type { Collector, Collectors } from "@/api/resources";
import { count, plural } from "@/lib/format";
import { Section } from "@/ui/Section";
import { Time } from "@/ui/Time";
import { Async, type AsyncQuery } from "@/widgets/Async";

import styles from "./Home.module.css";

const SHOWN = 5;

const limited = (collector: Collector): number => collector.sources.filter(({ state }) => state !== "active").length;

/** Whether data arrives, and what collectors cannot measure. */
export function CollectorHealth({ query }: { query: AsyncQuery<Collectors> }): ReactElement {
  return (
    <Section title="Collectors" note="Whether data arrives, and what collectors cannot measure.">
      <Async query={query} label="Loading collectors">
        {({ items, found, silent }) => {
          // With very many, the worst of the newest.
          const worstFirst = items.toSorted((a, b) => Number(b.state === "silent") - Number(a.state === "silent") || limited(b) - limited(a) || a.node.name.localeCompare(b.node.name));
          return (
            <>
              <p className={styles["none"]}>
                {count(found - silent)} of {plural(found, "collector")} receiving{silent > 0 && <>, <strong>{count(silent)} silent</strong></>}.
              </p>
              <ul className={styles["lines"]}>
                {worstFirst.slice(0, SHOWN).map((collector) => (
                  <Line key={collector.node.id} collector={collector} />
                ))}
              </ul>
              <p className={styles["more"]}>
                <Link to="/settings/collectors">{found > SHOWN ? `Show all ${count(found)} collectors` : "Go to collectors"}</Link>
              </p>
            </>
          );
        }}
      </Async>
    </Section>
  );
}

function Line({ collector }: { collector: Collector }): ReactElement {
  const lacking = limited(collector);
  const isSilent = collector.state === "silent";
  return (
    <li>
      <Link to="/resources/$resourceId" params={{ resourceId: collector.node.id }} className={styles["title"]}>
        {collector.node.name}
      </Link>
      <p className={styles["sub"]}>
        <span data-silent={isSilent || undefined}>{isSilent ? "✕ silent" : "● receiving"}</span>
        <span>
          last batch <Time at={collector.last_seen_at} />
        </span>
        <span>{collector.sources.length === 0 ? "no sources reported" : lacking === 0 ? `${plural(collector.sources.length, "source")} active` : `${count(lacking)} of ${plural(collector.sources.length, "source")} limited`}</span>
        {collector.dropped_batches > 0 && <strong>{plural(collector.dropped_batches, "batch", "batches")} lost</strong>}
      </p>
    </li>
  );
}
