import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useMemo, type ReactElement } from "react";

import { explain } from "@/api/problem";
import { resourcesQuery } from "@/api/resources";
import { Button } from "@/ui/Button";
import { Page } from "@/ui/Page";
import { EmptyState, ErrorState, Skeleton } from "@/ui/states";

import { ResourceFilters } from "./ResourceFilters";
import { ResourceTable } from "./ResourceTable";
import { asTree } from "./tree";

const route = getRouteApi("/signed-in/resources");

export function ResourceListPage(): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const kind = search.kind ?? "cgroup";
  const { data, isError, error, refetch, hasNextPage, fetchNextPage } = useInfiniteQuery(
    resourcesQuery({ kind, search: search.q, node: search.node, throttled: search.throttled, gone: search.all === true ? true : undefined }),
  );
  const items = useMemo(() => data?.pages.flatMap((page) => page.items) ?? [], [data]);
  const rows = useMemo(() => asTree(items), [items]);
  return (
    <Page title="Explore" lead="Everything the collectors see, with CPU over the last minute: mean, peak 100 ms and limit.">
      <ResourceFilters search={search} onChange={(next) => void navigate({ search: next, replace: true })} />
      {data === undefined ? (
        isError ? (
          <ErrorState {...explain(error)} onRetry={() => void refetch()} />
        ) : (
          <Skeleton lines={8} height={28} label="Loading resources" />
        )
      ) : rows.length === 0 ? (
        <EmptyState
          title="No resources found"
          action={
            <Link to="/collectors" search={{ add: true }}>
              Add collector
            </Link>
          }
        >
          <p>No resource of this kind matches. Widen the filter, or open Collectors to check that data arrives and what each source can measure.</p>
        </EmptyState>
      ) : (
        <ResourceTable rows={rows} kind={kind} />
      )}
      {hasNextPage && <Button onClick={() => void fetchNextPage()}>Show more</Button>}
    </Page>
  );
}
