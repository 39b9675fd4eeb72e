import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";

import { explain } from "@/api/problem";
import { serviceMapQuery, type ServiceMap } from "@/api/services";
import { plural } from "@/lib/format";
import { clock } from "@/lib/time";
import { EmptyState, ErrorState, Skeleton } from "@/ui/states";
import { CallMap } from "@/widgets/callmap/CallMap";

import { DEFAULT_MINUTES, type ServicesSearch } from "./search";
import styles from "./Services.module.css";

function useMap({ minutes, to, q }: ServicesSearch): UseQueryResult<ServiceMap> {
  return useQuery(serviceMapQuery({ minutes: minutes ?? DEFAULT_MINUTES, to, search: q }));
}

/** Who calls whom among all services. */
export function ServicesMap({ search }: { search: ServicesSearch }): ReactElement {
  const { data, isError, error, refetch } = useMap(search);
  if (data === undefined) return isError ? <ErrorState {...explain(error)} onRetry={() => void refetch()} /> : <Skeleton lines={8} height={44} label="Loading calls" />;
  if (data.calls.length === 0) return <Nothing isFiltered={search.q !== undefined} />;
  return (
    <>
      <CallMap map={data} window={{ minutes: search.minutes ?? DEFAULT_MINUTES, to: search.to }} />
      <p className={styles["notes"]}>
        Each line is all calls from one workload to another, timed at the caller&apos;s end of the connection, from the request sent to the first data of the answer; DNS at the server. A card has the worst share of answers over 20 ms: of its own servers, or of
        a call to it. Callers that run no server are timed only for DNS.
      </p>
    </>
  );
}

/** How many calls were found, and their window; nothing until they are loaded. */
export function MapCount({ search }: { search: ServicesSearch }): ReactElement | null {
  const { data } = useMap(search);
  if (data === undefined || data.calls.length === 0) return null;
  return (
    <p className={styles["window"]} role="status">
      {plural(data.calls_found, "call")} between {plural(data.places_found, "place")}, {clock(data.from_us).slice(0, 5)} to {clock(data.to_us).slice(0, 5)} local
    </p>
  );
}

function Nothing({ isFiltered }: { isFiltered: boolean }): ReactElement {
  if (isFiltered) {
    return (
      <EmptyState title="No calls match">
        <p>The search covers names of callers, servers, addresses, and nodes. Shorten the text, or choose a longer window.</p>
      </EmptyState>
    );
  }
  return (
    <EmptyState title="No calls in this window" action={<Link to="/settings/collectors">Go to collectors</Link>}>
      <p>A collector times the TCP calls of containers that run a server, and the queries to DNS servers on its node, without configuration. It needs the capabilities to load eBPF programs (CAP_BPF, CAP_PERFMON) and to read packets (CAP_NET_RAW).</p>
    </EmptyState>
  );
}
