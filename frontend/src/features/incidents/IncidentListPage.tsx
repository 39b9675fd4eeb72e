import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";

import { incidentsQuery } from "@/api/incidents";
import { explain } from "@/api/problem";
import { Button } from "@/ui/Button";
import { Page } from "@/ui/Page";
import { EmptyState, ErrorState, Skeleton } from "@/ui/states";
import { AddCollectorLink } from "@/widgets/AddCollectorLink";

import { IncidentFilters } from "./IncidentFilters";
import styles from "./IncidentList.module.css";
import { IncidentRow } from "./IncidentRow";
import { useListKeys } from "./useListKeys";

const route = getRouteApi("/signed-in/incidents");

export function IncidentListPage(): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const filter = { state: search.state ?? ("active" as const), severity: search.severity, muted: search.muted, q: search.q, order: search.order };
  const { data, isError, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(incidentsQuery(filter));
  const incidents = data?.pages.flatMap((page) => page.items) ?? [];
  const [current, setCurrent] = useState(-1);
  useListKeys({
    incidents,
    current,
    onCurrent: setCurrent,
    onOpen: (incident) => void navigate({ to: "/incidents/$incidentId", params: { incidentId: incident.id } }),
  });
  const filtered = search.severity !== undefined || search.muted !== undefined || search.q !== undefined;

  return (
    <Page title="Incidents" lead="Stalls that did harm, each with its root cause, the evidence and the fixes.">
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
            Show more
          </Button>
        </div>
      )}
    </Page>
  );
}

function Nothing({ filtered, state }: { filtered: boolean; state: string }): ReactElement {
  if (filtered) {
    return (
      <EmptyState title="No matching incidents">
        <p>Widen the filter: another severity, fewer words or all states.</p>
      </EmptyState>
    );
  }
  if (state === "closed") {
    return (
      <EmptyState title="No ended incidents">
        <p>An incident ends when its fault has stayed away for a while, when a member resolves it, or when its node has sent no data for 15 min.</p>
      </EmptyState>
    );
  }
  return (
    <EmptyState title="No open incidents" action={<AddCollectorLink />}>
      <p>
        Jitterscope checks every 100 ms of each container. An incident opens within seconds of a stall that does harm and whose cause is known: a CPU limit that GC cycles use up, a
        burst of requests, a noisy neighbor, a limit that is too low.
      </p>
      <p>
        Throttling without measured harm is listed under <Link to="/risks">Risks</Link>. To check that data arrives, see <Link to="/settings/collectors">Collectors</Link>.
      </p>
    </EmptyState>
  );
}
