import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useCallback, useMemo, type ReactElement } from "react";

import { explain } from "@/api/problem";
import { servicesQuery, type Services } from "@/api/services";
import { count, plural } from "@/lib/format";
import { clock, minutesText } from "@/lib/time";
import { Button } from "@/ui/Button";
import { Choice } from "@/ui/Choice";
import { FilterText } from "@/ui/FilterText";
import { Filters } from "@/ui/Filters";
import { Page } from "@/ui/Page";
import { EmptyState, ErrorState, Skeleton } from "@/ui/states";
import { SavedViews } from "@/widgets/views/SavedViews";

import { DEFAULT_MINUTES, MINUTES, SORTING, type ServicesSearch } from "./search";
import styles from "./Services.module.css";
import { ServiceTable } from "./ServiceTable";

const route = getRouteApi("/signed-in/services");
const LEAD = "Every server the collectors see, whatever its protocol: rate, latency, failures, and the stalls of its container.";

export function ServicesPage(): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = useCallback((next: Partial<ServicesSearch>) => void navigate({ search: (before) => ({ ...before, ...next }), replace: true, resetScroll: false }), [navigate]);
  const filter = useCallback((q: string | undefined) => change({ q }), [change]);
  const minutes = search.minutes ?? DEFAULT_MINUTES;
  const { data, isError, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(
    servicesQuery({ minutes, to: search.to, search: search.q ?? "", order: SORTING.orderOf(search), descending: SORTING.isDescending(search) }),
  );
  const items = useMemo(() => data?.pages.flatMap((page) => page.items) ?? [], [data]);
  const first = data?.pages[0];
  return (
    <Page title="Services" lead={LEAD} actions={<SavedViews />}>
      <Filters>
        <FilterText label="Service, container or node" value={search.q} onChange={filter} />
        <Choice label="Window" options={MINUTES.map((choice) => [choice, minutesText(choice)])} value={minutes} onChange={(choice) => change({ minutes: choice === DEFAULT_MINUTES ? undefined : choice })} />
        {search.to !== undefined && <Button onClick={() => change({ to: undefined })}>Back to now</Button>}
        {first !== undefined && items.length > 0 && <Count page={first} />}
      </Filters>
      {first === undefined ? (
        isError ? (
          <ErrorState {...explain(error)} onRetry={() => void refetch()} />
        ) : (
          <Skeleton lines={8} height={44} label="Loading services" />
        )
      ) : items.length === 0 ? (
        <Nothing isFiltered={search.q !== undefined} />
      ) : (
        <>
          <ServiceTable items={items} fromUs={first.from_us} search={search} onSearch={change} />
          {hasNextPage && (
            <Button onClick={() => void fetchNextPage()} disabled={isFetchingNextPage}>
              Show more
            </Button>
          )}
          <p className={styles["notes"]}>
            Objective: the latency set for the service, and where its quantile is in this window. Slowest by minute: one bar per minute, as high as its slowest answer, on one log scale for all rows; the dashed line is at 20 ms. Failed: SERVFAIL, REFUSED, and
            timeouts for DNS; for other protocols, requests whose connection closed without an answer, which the client might have caused, and 5xx of plaintext HTTP/1. Other errors inside answers are not detected. Upstreams: servers that the container calls
            over TCP, timed from the request sent to the first data of the answer.
          </p>
        </>
      )}
    </Page>
  );
}

function Count({ page }: { page: Services }): ReactElement {
  return (
    <p className={styles["window"]} role="status">
      {page.compared < page.found ? `The ${count(page.compared)} most recently seen of ${plural(page.found, "service")}; filter to see others. ` : `${plural(page.found, "service")}, `}
      {clock(page.from_us).slice(0, 5)} to {clock(page.to_us).slice(0, 5)} local
    </p>
  );
}

function Nothing({ isFiltered }: { isFiltered: boolean }): ReactElement {
  if (isFiltered) {
    return (
      <EmptyState title="No services match">
        <p>The search covers names of servers, containers, processes, and nodes. Shorten the text, or choose a longer window.</p>
      </EmptyState>
    );
  }
  return (
    <EmptyState title="No services in this window" action={<Link to="/settings/collectors">Go to collectors</Link>}>
      <p>A collector finds the servers on its node without configuration, and times their requests and DNS queries. It needs the capabilities to load eBPF programs (CAP_BPF, CAP_PERFMON) and to read packets (CAP_NET_RAW).</p>
      <p>Open Collectors to check that data arrives and what each source can measure.</p>
    </EmptyState>
  );
}
