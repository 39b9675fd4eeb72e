import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import type { ReactElement } from "react";

import { explain } from "@/api/problem";
import { serviceMapQuery, type ServiceMap } from "@/api/services";
import { plural } from "@/lib/format";
import { ErrorState, Skeleton } from "@/ui/states";
import { CallMap } from "@/widgets/callmap/CallMap";

import { DEFAULT_MINUTES, type ServicesSearch } from "./search";
import styles from "./Services.module.css";
import { FoundIn, Nothing } from "./shared";

function useMap({ minutes, to, q }: ServicesSearch): UseQueryResult<ServiceMap> {
  return useQuery(serviceMapQuery({ minutes: minutes ?? DEFAULT_MINUTES, to, search: q }));
}

/** Who calls whom among all services. */
export function ServicesMap({ search }: { search: ServicesSearch }): ReactElement {
  const { data, isError, error, refetch } = useMap(search);
  if (data === undefined) return isError ? <ErrorState {...explain(error)} onRetry={() => void refetch()} /> : <Skeleton lines={8} height={44} label="Loading calls" />;
  if (data.calls.length === 0) {
    return (
      <Nothing what="calls" covers="callers, servers, addresses, and nodes" isFiltered={search.q !== undefined}>
        <p>A collector times the TCP calls of containers that run a server, and the queries to DNS servers on its node, without configuration. It needs the capabilities to load eBPF programs (CAP_BPF, CAP_PERFMON) and to read packets (CAP_NET_RAW).</p>
      </Nothing>
    );
  }
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
    <FoundIn fromUs={data.from_us} toUs={data.to_us}>
      {`${plural(data.calls_found, "call")} between ${plural(data.places_found, "place")}, `}
    </FoundIn>
  );
}
