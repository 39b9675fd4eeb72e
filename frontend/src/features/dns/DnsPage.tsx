import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";

import { dnsAffectedQuery, dnsClientsQuery, dnsNamesQuery, dnsPathQuery, type DnsPath, type DnsScope } from "@/api/dns";
import { explain } from "@/api/problem";
import { ChangeList } from "@/charts/changes/ChangeList";
import { linesInView } from "@/charts/changes/changes";
import { clock } from "@/lib/time";
import { Page } from "@/ui/Page";
import { Section } from "@/ui/Section";
import { EmptyState, ErrorState, Skeleton } from "@/ui/states";
import { Async } from "@/widgets/Async";
import { useChangesOf } from "@/widgets/useChanges";
import { WindowControls } from "@/widgets/WindowControls";

import { Affected } from "./Affected";
import { ClientList } from "./ClientList";
import styles from "./Dns.module.css";
import { NamesTable, OrderTabs } from "./NamesTable";
import { changed, entryServers } from "./path";
import { PathPicture } from "./PathPicture";
import { MINUTES, type DnsSearch } from "./search";

const route = getRouteApi("/signed-in/dns");
const LEAD = "The path of queries through a node's DNS servers: latency, queries in flight and failures at each hop.";

export function DnsPage(): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (next: Partial<DnsSearch>): void => void navigate({ search: (before) => ({ ...before, ...next }), replace: true, resetScroll: false });
  const scope: DnsScope = { node: search.node, minutes: search.minutes ?? 5, to: search.to };
  const { data: path, isError, error, refetch } = useQuery(dnsPathQuery(scope));
  return (
    <Page title="DNS" lead={LEAD} actions={<Controls path={path} pending={path === undefined && !isError} search={search} onChange={change} />}>
      {path === undefined ? (
        isError ? (
          <ErrorState {...explain(error)} onRetry={() => void refetch()} />
        ) : (
          <Skeleton lines={5} height={60} label="Loading DNS path" />
        )
      ) : path.hops.length === 0 ? (
        <Nothing path={path} />
      ) : (
        <Loaded path={path} scope={{ ...scope, node: path.node?.id }} search={search} onChange={change} />
      )}
    </Page>
  );
}

function Controls({ path, pending, search, onChange }: { path: DnsPath | undefined; pending: boolean; search: DnsSearch; onChange: (next: Partial<DnsSearch>) => void }): ReactElement {
  return (
    <WindowControls
      node={path?.node}
      nodes={path?.nodes ?? []}
      minutes={search.minutes ?? 5}
      choices={MINUTES}
      pending={pending}
      fixed={search.to !== undefined}
      onNode={(node) => onChange({ node })}
      onMinutes={(choice) => onChange({ minutes: choice === 5 ? undefined : choice })}
      onNow={() => onChange({ to: undefined })}
    />
  );
}

interface LoadedProps {
  path: DnsPath;
  scope: DnsScope;
  search: DnsSearch;
  onChange: (next: Partial<DnsSearch>) => void;
}

function Loaded({ path, scope, search, onChange }: LoadedProps): ReactElement {
  const order = search.order ?? "queries";
  const servers = entryServers(path);
  const affected = useQuery(dnsAffectedQuery(scope));
  const names = useQuery(dnsNamesQuery(scope, servers, order));
  const clients = useQuery(dnsClientsQuery(scope, servers));
  const window = { fromUs: path.from_us, toUs: path.to_us };
  const changes = useChangesOf(changed(path), window);
  return (
    <div className={styles["parts"]}>
      <section aria-label="DNS path">
        <h2 className="visually-hidden">DNS path</h2>
        <p className={styles["window"]}>
          {path.node?.name}, {clock(path.from_us, 0)} to {clock(path.to_us, 0)} local, {clock(path.to_us, 0, "utc")} UTC
        </p>
        <PathPicture path={path} />
        <ChangeList lines={changes && linesInView(changes, window)} />
        {path.notes.length > 0 && (
          <ul className={styles["notes"]} aria-label="Not measured here">
            {path.notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        )}
      </section>
      <Section title="Does NodeLocal DNSCache exhaust kube-dns here?" note="Three questions, answered from the measurements in this window.">
        <Async query={affected} label="Loading answers">
          {(data) => <Affected affected={data} />}
        </Async>
      </Section>
      <Section title="Most expensive names" note="At the servers that clients query, across all clients.">
        <OrderTabs order={order} onOrder={(next) => onChange({ order: next === "queries" ? undefined : next })} />
        <Async query={names} label="Loading names">
          {(data) => <NamesTable names={data} />}
        </Async>
      </Section>
      <Section title="Queries per lookup, by client" note="Search domains turn one lookup into several queries. For each client: now, with the best safe ndots, and with a trailing dot.">
        <Async query={clients} label="Loading clients">
          {(data) => <ClientList clients={data} />}
        </Async>
      </Section>
    </div>
  );
}

function Nothing({ path }: { path: DnsPath }): ReactElement {
  return (
    <EmptyState title={path.node === null ? "No DNS servers seen yet" : "No DNS servers in this window"} action={<Link to="/settings/collectors">Go to collectors</Link>}>
      <p>A collector finds the DNS servers on its node without configuration: CoreDNS, NodeLocal DNSCache, dnsmasq (kube-dns), Unbound and others. It needs the capability to read packets (CAP_NET_RAW).</p>
      <p>This page then shows which server queries which, how long each takes, and which names and clients cost most.</p>
    </EmptyState>
  );
}
