import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";

import { api, unwrap } from "@/api/client";
import { receivedQuery } from "@/api/metrics";
import { collectorsQuery, ingestTokensQuery, type Collector } from "@/api/resources";
import { bytes, cpus, milliseconds, plural } from "@/lib/format";
import { ActionButton } from "@/ui/ActionButton";
import { Button } from "@/ui/Button";
import { Page } from "@/ui/Page";
import { Section } from "@/ui/Section";
import { EmptyState, Pending } from "@/ui/states";
import { Time } from "@/ui/Time";
import { Async } from "@/widgets/Async";
import { ReceivedTable, receivedText } from "@/widgets/ReceivedTable";
import { SourceList } from "@/widgets/SourceList";
import { TokenTable } from "@/widgets/TokenTable";
import { useRefusal } from "@/widgets/useRefusal";
import { useTellError } from "@/widgets/useTellError";

import { AddCollector } from "./AddCollector";
import styles from "./Collectors.module.css";
import { OwnRisks } from "./OwnRisks";
import { WhatIsRead } from "./WhatIsRead";

const route = getRouteApi("/signed-in/settings/collectors");

export function CollectorsPage(): ReactElement {
  const { add } = route.useSearch();
  const navigate = route.useNavigate();
  const { data, isError, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(collectorsQuery());
  const refusal = useRefusal("collectors:write");
  return (
    <Page
      title="Collectors"
      within={<Link to="/settings">Settings</Link>}
      lead="One per node. Each records 100 ms ticks, spools them to disk while this service is unreachable, and lists what it cannot measure."
      actions={
        <ActionButton kind="primary" refusal={refusal} onClick={() => void navigate({ search: add === true ? {} : { add: true } })} aria-expanded={add === true}>
          Add collector
        </ActionButton>
      }
    >
      {add === true && <AddCollector />}
      <Async query={{ data: data?.pages.flatMap(({ items }) => items), isError, error, refetch }} label="Loading collectors">
        {(listed) =>
          listed.length === 0 ? (
            <EmptyState title="No collectors have reported yet">
              <p>Add one above: a single static binary, installed with one command. Its node and containers appear here within seconds.</p>
            </EmptyState>
          ) : (
            <ul>
              {listed.map((collector) => (
                <CollectorRow key={collector.node.id} collector={collector} />
              ))}
            </ul>
          )
        }
      </Async>
      {hasNextPage && (
        <Button onClick={() => void fetchNextPage()} disabled={isFetchingNextPage}>
          Show older
        </Button>
      )}
      <OwnRisks />
      <Senders />
      <WhatIsRead />
      <IngestTokens />
    </Page>
  );
}

function CollectorRow({ collector }: { collector: Collector }): ReactElement {
  const lacking = collector.sources.filter((source) => source.state !== "active").length;
  const [open, setOpen] = useState(false);
  const silent = collector.state === "silent";
  return (
    <li className={styles["collector"]}>
      <div className={styles["head"]}>
        <h2>
          <Link to="/resources/$resourceId" params={{ resourceId: collector.node.id }}>
            {collector.node.name}
          </Link>
        </h2>
        <span className={styles["state"]} data-silent={silent}>
          {silent ? "✕ silent" : "● receiving"}
        </span>
        <Button onClick={() => setOpen(!open)} aria-expanded={open}>
          {lacking === 0 ? `${plural(collector.sources.length, "source")} active` : `${lacking} of ${plural(collector.sources.length, "source")} limited`}
        </Button>
      </div>
      {silent && (
        <p className={styles["hint"]}>
          No data since <Time at={collector.last_seen_at} style="clock" />. On the node, run <code>systemctl status jitterscope-collector</code>. Its spool keeps the data until it can
          send again.
        </p>
      )}
      <p className={styles["numbers"]}>
        version {collector.version} · last batch <Time at={collector.last_seen_at} />, transit {milliseconds(collector.delay_ms)} ·{" "}
        {collector.lateness_max_ms !== null && `worst tick ${milliseconds(collector.lateness_max_ms)} late · `}
        {collector.cpu_used !== null && `uses ${cpus(collector.cpu_used)}, ${bytes(collector.memory_bytes)} · `}
        {plural(collector.batches, "batch", "batches")}
        {collector.dropped_batches > 0 && (
          <strong className={styles["lost"]}> · {plural(collector.dropped_batches, "batch", "batches")} lost: spool full, or refused</strong>
        )}
      </p>
      {(open || lacking > 0) && <SourceList sources={open ? collector.sources : collector.sources.filter((source) => source.state !== "active")} />}
    </li>
  );
}

function Senders(): ReactElement | null {
  const { data, isPending } = useQuery(receivedQuery());
  if (isPending) return <Pending />;
  if (data === undefined || data.senders.length === 0) return null;
  return (
    <div className={styles["tokens"]}>
      <Section title="Senders of remote write" note={`${receivedText(data)}. They send metrics only. Causes need a collector.`}>
        <ReceivedTable received={data} />
        <p>
          <Link to="/explore/metrics">Explore metrics</Link>
        </p>
      </Section>
    </div>
  );
}

function IngestTokens(): ReactElement {
  const refusal = useRefusal("collectors:write");
  const client = useQueryClient();
  const tell = useTellError();
  const tokens = useQuery(ingestTokensQuery());
  const revoke = useMutation({
    mutationFn: (id: number) => unwrap(api.DELETE("/api/v1/collectors/tokens/{token_id}", { params: { path: { token_id: id } } })),
    onError: tell,
    onSettled: () => client.invalidateQueries({ queryKey: ["collectors"] }),
  });
  return (
    <div className={styles["tokens"]}>
      <Section title="Ingest tokens" note="An ingest token can only send data. A revoked token is refused from the next batch on.">
        <Async query={tokens} label="Loading tokens">
          {({ items }) => <TokenTable tokens={items} refusal={refusal} onRevoke={(id) => revoke.mutate(id)} />}
        </Async>
      </Section>
    </div>
  );
}
