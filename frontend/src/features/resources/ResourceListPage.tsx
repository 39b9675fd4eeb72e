import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useMemo, type ReactElement } from "react";

import { explain } from "@/api/problem";
import { resourcesQuery, type ResourceKind } from "@/api/resources";
import { Button } from "@/ui/Button";
import { Page } from "@/ui/Page";
import { EmptyState, ErrorState, Skeleton } from "@/ui/states";
import { AddCollectorLink } from "@/widgets/AddCollectorLink";
import { SavedViews } from "@/widgets/views/SavedViews";

import { ContainerList } from "./ContainerList";
import { ResourceFilters } from "./ResourceFilters";
import { ResourceTable } from "./ResourceTable";
import type { ResourceListSearch } from "./search";
import { asTree } from "./tree";

const route = getRouteApi("/signed-in/resources");

export function ResourceListPage(): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = useCallback((next: ResourceListSearch) => void navigate({ search: next, replace: true, resetScroll: false }), [navigate]);
  const kind = search.kind ?? "cgroup";
  const lead =
    kind === "cgroup" ? "Containers by throttled time in the range, each with its worst tick." : "What the collectors see, with CPU over the last minute: mean, peak 100 ms and limit.";
  return (
    <Page title={kind === "cgroup" ? "Containers" : kind === "node" ? "Nodes" : "Resources"} lead={lead} actions={<SavedViews />}>
      <ResourceFilters search={search} onChange={change} />
      {kind === "cgroup" ? <ContainerList search={search} onSearch={change} /> : <ResourceList search={search} kind={kind} />}
    </Page>
  );
}

function ResourceList({ search, kind }: { search: ResourceListSearch; kind: ResourceKind }): ReactElement {
  const { data, isError, error, refetch, hasNextPage, fetchNextPage } = useInfiniteQuery(
    resourcesQuery({ kind, search: search.q, node: search.node, throttled: search.throttled, gone: search.all === true ? true : undefined }),
  );
  const items = useMemo(() => data?.pages.flatMap((page) => page.items) ?? [], [data]);
  const rows = useMemo(() => asTree(items), [items]);
  return (
    <>
      {data === undefined ? (
        isError ? (
          <ErrorState {...explain(error)} onRetry={() => void refetch()} />
        ) : (
          <Skeleton lines={8} height={28} label="Loading resources" />
        )
      ) : rows.length === 0 ? (
        <EmptyState title="No resources found" action={<AddCollectorLink />}>
          <p>No resource of this kind matches. Widen the filter, or open Collectors to check that data arrives and what each source can measure.</p>
        </EmptyState>
      ) : (
        <ResourceTable rows={rows} kind={kind} />
      )}
      {hasNextPage && <Button onClick={() => void fetchNextPage()}>Show more</Button>}
    </>
  );
}
