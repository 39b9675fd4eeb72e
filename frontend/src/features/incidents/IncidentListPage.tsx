import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";

import { incidentsQuery } from "@/api/incidents";
import { explain } from "@/api/problem";
import { Button } from "@/ui/Button";
import { Page } from "@/ui/Page";
import { EmptyState, ErrorState, Skeleton } from "@/ui/states";

import { IncidentFilters } from "./IncidentFilters";
import styles from "./IncidentList.module.css";
import { IncidentRow } from "./IncidentRow";
import { useListKeys } from "./useListKeys";

const route = getRouteApi("/signed-in/incidents");

export function IncidentListPage(): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const filter = { state: search.state ?? ("active" as const), severity: search.severity, q: search.q };
  const { data, isError, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(incidentsQuery(filter));
  const incidents = data?.pages.flatMap((page) => page.items) ?? [];
  const [current, setCurrent] = useState(-1);
  useListKeys({
    incidents,
    current,
    onCurrent: setCurrent,
    onOpen: (incident) => void navigate({ to: "/incidents/$incidentId", params: { incidentId: incident.id } }),
  });
  const filtered = search.severity !== undefined || search.q !== undefined;

  return (
    <Page title="Incidents" lead="Stalls that hurt somebody, each with its cause, the proof and what to change.">
      <IncidentFilters search={search} onChange={(next) => void navigate({ search: next, replace: true })} />
      {data === undefined ? (
        isError ? (
          <ErrorState {...explain(error)} onRetry={() => void refetch()} />
        ) : (
          <Skeleton lines={6} height={48} label="Loading incidents" />
        )
      ) : incidents.length === 0 ? (
        <Nothing filtered={filtered} state={filter.state} />
      ) : (
        <ul aria-label="Incidents">
          {incidents.map((incident, index) => (
            <IncidentRow key={incident.id} incident={incident} current={index === current} />
          ))}
        </ul>
      )}
      {hasNextPage && (
        <div className={styles["more"]}>
          <Button onClick={() => void fetchNextPage()} disabled={isFetchingNextPage}>
            Show older ones
          </Button>
        </div>
      )}
    </Page>
  );
}

function Nothing({ filtered, state }: { filtered: boolean; state: string }): ReactElement {
  if (filtered) {
    return (
      <EmptyState title="No incident matches">
        <p>Widen the filter above: another severity, fewer words, or all states.</p>
      </EmptyState>
    );
  }
  if (state === "closed") {
    return (
      <EmptyState title="Nothing was resolved yet">
        <p>An incident is resolved when its fault has stayed away for a while, or when somebody resolves it.</p>
      </EmptyState>
    );
  }
  return (
    <EmptyState
      title="Nobody is hurt right now"
      action={
        <Link to="/collectors" search={{ add: true }}>
          Add a collector
        </Link>
      }
    >
      <p>
        Jitterscope looks at every 100 ms of each container. An incident opens here within seconds when answers become slow and the data say why: a CPU limit that garbage
        collection uses up, a burst of requests, a neighbour, a limit that is just too low.
      </p>
      <p>
        Throttling that hurts nobody yet is listed under <Link to="/risks">Risks</Link>. Nothing anywhere? Look at <Link to="/collectors">Collectors</Link> to see whether data
        arrive.
      </p>
    </EmptyState>
  );
}
