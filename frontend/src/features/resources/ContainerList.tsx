import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, type ReactElement } from "react";

import { containersQuery, type Containers } from "@/api/containers";
import { receivedQuery } from "@/api/metrics";
import { explain } from "@/api/problem";
import { count, plural } from "@/lib/format";
import { rangeText } from "@/widgets/RangePicker";
import { Button } from "@/ui/Button";
import { EmptyState, ErrorState, Skeleton } from "@/ui/states";
import { AddCollectorLink } from "@/widgets/AddCollectorLink";

import styles from "./Containers.module.css";
import { ContainerTable } from "./ContainerTable";
import { DEFAULT_MINUTES, SORTING, zoneOf, type ResourceListSearch } from "./search";

/** Containers in a range, worst tick first. */
export function ContainerList({ search, onSearch }: { search: ResourceListSearch; onSearch: (search: ResourceListSearch) => void }): ReactElement {
  const { data, isError, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(
    containersQuery({
      minutes: search.minutes ?? DEFAULT_MINUTES,
      from: search.from,
      to: search.to,
      search: search.q ?? "",
      node: search.node,
      throttled: search.throttled === true,
      gone: search.all === true,
      every: search.every === true,
      order: SORTING.orderOf(search),
      descending: SORTING.isDescending(search),
    }),
  );
  const items = useMemo(() => data?.pages.flatMap((page) => page.items) ?? [], [data]);
  const first = data?.pages[0];
  if (first === undefined) {
    return isError ? <ErrorState {...explain(error)} onRetry={() => void refetch()} /> : <Skeleton lines={8} height={44} label="Loading containers" />;
  }
  if (items.length === 0) return <Nothing page={first} search={search} onSearch={onSearch} />;
  return (
    <>
      <p className={styles["status"]} role="status">
        {statusText(first, search)}
      </p>
      <ContainerTable items={items} page={first} search={search} onSearch={onSearch} />
      {hasNextPage && (
        <Button onClick={() => void fetchNextPage()} disabled={isFetchingNextPage}>
          Show more
        </Button>
      )}
      <p className={styles["notes"]}>
        Worst tick: the 100 ms with the most throttled time, summed over CPUs. The kernel counts throttled time when the stall ends. Worst 100 ms: one bar per step, as high as the CPU usage of its highest 100 ms, on one log scale for all rows. The dashed line is the
        limit, and the strip above the bars marks steps with throttling. Limit: the container&apos;s own at the end of the range.
      </p>
    </>
  );
}

function statusText(page: Containers, search: ResourceListSearch): string {
  const range = rangeText({ fromUs: page.from_us, toUs: page.to_us }, zoneOf(search));
  const cut = page.compared < page.found ? `the ${count(page.compared)} throttled or most recently seen of ${plural(page.found, "container")}; filter to see others` : plural(page.found, "container");
  return search.throttled === true ? `${count(page.listed)} throttled, of ${cut}. ${range}.` : `${cut.charAt(0).toUpperCase()}${cut.slice(1)}. ${range}.`;
}

function Nothing({ page, search, onSearch }: { page: Containers; search: ResourceListSearch; onSearch: (search: ResourceListSearch) => void }): ReactElement {
  const { data: received } = useQuery(receivedQuery());
  if (search.throttled === true && page.compared > 0) {
    return (
      <EmptyState title="No throttled container in this range" action={<Button onClick={() => onSearch({ ...search, throttled: undefined })}>Show all containers</Button>}>
        <p>{plural(page.compared, "container")} checked. Containers whose throttling is not measured are listed among all containers.</p>
      </EmptyState>
    );
  }
  if (search.q !== undefined || search.node !== undefined || search.all !== true) {
    return (
      <EmptyState
        title="No containers match"
        action={search.all === true ? <Button onClick={() => onSearch({ ...search, q: undefined, node: undefined })}>Clear filter</Button> : <Button onClick={() => onSearch({ ...search, all: true })}>Include containers that are gone</Button>}
      >
        <p>
          {search.q !== undefined && "The search covers names, paths, and nodes. Shorten the text, or "}
          {search.q === undefined ? "Choose" : "choose"} another range{search.all === true ? "" : ", or include containers that are gone"}.
        </p>
      </EmptyState>
    );
  }
  return (
    <EmptyState title="No containers in this range" action={<AddCollectorLink />}>
      <p>A collector reports every cgroup of its node. Choose another range, or open Collectors to check that data arrives.</p>
      {received !== undefined && received.series > 0 && (
        <p>
          Prometheus and others send {plural(received.series, "series", "series")}: <Link to="/explore/metrics">explore metrics</Link>.
        </p>
      )}
    </EmptyState>
  );
}
