import { useInfiniteQuery, type InfiniteData, type UseInfiniteQueryResult } from "@tanstack/react-query";
import { useMemo, type ReactElement } from "react";

import { explain } from "@/api/problem";
import { servicesQuery, type Services } from "@/api/services";
import { count, plural } from "@/lib/format";
import { Button } from "@/ui/Button";
import { ErrorState, Skeleton } from "@/ui/states";

import { DEFAULT_MINUTES, SORTING, type ServicesSearch } from "./search";
import styles from "./Services.module.css";
import { ServiceTable } from "./ServiceTable";
import { FoundIn, Nothing } from "./shared";

function useServices(search: ServicesSearch): UseInfiniteQueryResult<InfiniteData<Services>> {
  return useInfiniteQuery(
    servicesQuery({ minutes: search.minutes ?? DEFAULT_MINUTES, to: search.to, search: search.q ?? "", order: SORTING.orderOf(search), descending: SORTING.isDescending(search) }),
  );
}

/** Every server with its figures, page by page. */
export function ServiceList({ search, onSearch }: { search: ServicesSearch; onSearch: (search: ServicesSearch) => void }): ReactElement {
  const { data, isError, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useServices(search);
  const items = useMemo(() => data?.pages.flatMap((page) => page.items) ?? [], [data]);
  const first = data?.pages[0];
  if (first === undefined) return isError ? <ErrorState {...explain(error)} onRetry={() => void refetch()} /> : <Skeleton lines={8} height={44} label="Loading services" />;
  if (items.length === 0) {
    return (
      <Nothing what="services" covers="servers, containers, processes, and nodes" isFiltered={search.q !== undefined}>
        <p>A collector finds the servers on its node without configuration, and times their requests and DNS queries. It needs the capabilities to load eBPF programs (CAP_BPF, CAP_PERFMON) and to read packets (CAP_NET_RAW).</p>
        <p>Open Collectors to check that data arrives and what each source can measure.</p>
      </Nothing>
    );
  }
  return (
    <>
      <ServiceTable items={items} fromUs={first.from_us} search={search} onSearch={onSearch} />
      {hasNextPage && (
        <Button onClick={() => void fetchNextPage()} disabled={isFetchingNextPage}>
          Show more
        </Button>
      )}
      <p className={styles["notes"]}>
        Objective: the latency set for the service, and where its quantile is in this window. Slowest by minute: one bar per minute, as high as its slowest answer, on one log scale for all rows; the dashed line is at 20 ms. Failed: SERVFAIL, REFUSED, and
        timeouts for DNS; for other protocols, requests whose connection closed without an answer, which the client might have caused, 5xx of plaintext HTTP, and server errors of plaintext gRPC. Other errors inside answers are not detected. Upstreams: servers that the container calls
        over TCP, timed from the request sent to the first data of the answer.
      </p>
    </>
  );
}

/** How many services match, and their window; nothing until they are loaded. */
export function ListCount({ search }: { search: ServicesSearch }): ReactElement | null {
  const page = useServices(search).data?.pages[0];
  if (page === undefined || page.items.length === 0) return null;
  return (
    <FoundIn fromUs={page.from_us} toUs={page.to_us}>
      {page.compared < page.found ? `The ${count(page.compared)} most recently seen of ${plural(page.found, "service")}; filter to see others. ` : `${plural(page.found, "service")}, `}
    </FoundIn>
  );
}
