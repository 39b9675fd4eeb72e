import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";

import { receivedQuery } from "@/api/metrics";
import { collectorsQuery } from "@/api/resources";
import { Page } from "@/ui/Page";
import { EmptyState, Skeleton } from "@/ui/states";
import { AddCollectorLink } from "@/widgets/AddCollectorLink";
import { useRefusal } from "@/widgets/useRefusal";

import { AtRisk } from "./AtRisk";
import { Changes } from "./Changes";
import { CollectorHealth } from "./CollectorHealth";
import { FixedLately } from "./FixedLately";
import { FleetMap } from "./FleetMap";
import styles from "./Home.module.css";
import { Now } from "./Now";
import { OnlyRemoteWrite, RemoteWrite } from "./RemoteWrite";

const route = getRouteApi("/signed-in/");
/** Events report when collectors connect or go silent. */
const COLLECTORS_MS = 15_000;

/** What is wrong now, where, and what was done about it. */
export function HomePage(): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { data, isError, error, refetch } = useInfiniteQuery({ ...collectorsQuery(), refetchInterval: COLLECTORS_MS });
  const collectors = data?.pages[0];
  if (collectors?.found === 0) return <NoCollector />;
  return (
    <Page title="Home" ownHeading>
      <Now collectors={isError ? { found: 0, silent: 0 } : collectors} />
      <div className={styles["parts"]}>
        <FleetMap by={search.by ?? "node"} onBy={(by) => void navigate({ search: { by: by === "node" ? undefined : by }, replace: true, resetScroll: false })} />
        <div className={styles["columns"]}>
          <AtRisk />
          <FixedLately />
          <Changes />
          <CollectorHealth query={{ data: collectors, isError, error, refetch }} />
        </div>
        <RemoteWrite />
      </div>
    </Page>
  );
}

function NoCollector(): ReactElement {
  const refusal = useRefusal("collectors:write");
  const { data: received, isPending } = useQuery(receivedQuery());
  if (received !== undefined && received.senders.length > 0) return <OnlyRemoteWrite received={received} />;
  if (isPending) {
    return (
      <Page title="Home" ownHeading>
        <Skeleton lines={3} height={36} label="Loading received metrics" />
      </Page>
    );
  }
  return (
    <Page title="Home" lead="What is wrong now, where, and what was done about it.">
      <EmptyState title="No collectors have reported yet" action={<AddCollectorLink />}>
        <p>Nothing is measured yet. A collector is one static binary, installed with one command. Its node and containers then appear here.</p>
        {refusal !== null && <p>{refusal}</p>}
        <p>
          Prometheus, Grafana Alloy, and the OpenTelemetry Collector can <Link to="/explore/metrics">send metrics</Link> as well. They are not searched for causes.
        </p>
        <p>
          Without a collector, Jitterscope reads packet captures, logs, and metric dumps: see <Link to="/evidence">Evidence</Link>.
        </p>
      </EmptyState>
    </Page>
  );
}
