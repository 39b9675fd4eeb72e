import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";

import { causesQuery } from "@/api/causes";
import { receivedQuery, type Received } from "@/api/metrics";
import { plural } from "@/lib/format";
import { Page } from "@/ui/Page";
import { Section } from "@/ui/Section";
import { Pending } from "@/ui/states";
import { AddCollectorLink } from "@/widgets/AddCollectorLink";
import { Async } from "@/widgets/Async";
import { ReceivedTable, receivedText } from "@/widgets/ReceivedTable";

import styles from "./Home.module.css";

/** Metrics received by remote write in addition to the collectors; nothing if there are none. */
export function RemoteWrite(): ReactElement | null {
  const { data, isPending } = useQuery(receivedQuery());
  if (isPending) return <Pending />;
  if (data === undefined || data.senders.length === 0) return null;
  return (
    <Section title="Metrics from Prometheus" note={`${receivedText(data)}.`}>
      <ReceivedTable received={data} />
      <p className={styles["more"]}>
        <Link to="/explore/metrics">Explore metrics</Link>
      </p>
    </Section>
  );
}

/** Home of an organization that receives remote write but has no collector: what arrives, and which causes cannot be found. */
export function OnlyRemoteWrite({ received }: { received: Received }): ReactElement {
  return (
    <Page title="Home" ownHeading>
      <header className={styles["now"]}>
        <h1>No collector: metrics arrive, but causes cannot be found</h1>
        <p className={styles["coverage"]}>
          {receivedText(received)}, from {plural(received.senders_found, "sender")}.
        </p>
      </header>
      <div className={styles["parts"]}>
        <Section title="Received metrics" note="From Prometheus remote write.">
          <ReceivedTable received={received} />
          <p className={styles["more"]}>
            <Link to="/explore/metrics">Explore metrics</Link>
          </p>
        </Section>
        <NotFound />
      </div>
    </Page>
  );
}

function NotFound(): ReactElement {
  const causes = useQuery(causesQuery());
  return (
    <Section title="Causes that need a collector" note="Every cause reads the 100 ms ticks, events, and settings that a collector records. A stall averages out in scrapes every 15 s.">
      <Async query={causes} label="Loading causes">
        {(all) => (
          <>
            <p>
              {plural(all.length, "cause")} need a collector. <AddCollectorLink />
            </p>
            <ul className={styles["causes"]}>
              {all.map(({ id, title }) => (
                <li key={id}>
                  <Link to="/help/causes" search={{ cause: id }}>
                    {title}
                  </Link>
                </li>
              ))}
            </ul>
          </>
        )}
      </Async>
    </Section>
  );
}
