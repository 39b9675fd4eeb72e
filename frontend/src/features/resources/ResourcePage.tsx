import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";

import { incidentsQuery } from "@/api/incidents";
import { explain } from "@/api/problem";
import { diagnosisQuery, resourceQuery, type ResourceDetail } from "@/api/resources";
import { sentence } from "@/lib/text";
import { parseUs, US_PER_S } from "@/lib/time";
import { Page } from "@/ui/Page";
import { Section } from "@/ui/Section";
import { ErrorState, Pending, Skeleton } from "@/ui/states";
import { Time } from "@/ui/Time";
import { FactTable } from "@/widgets/FactTable";
import { ObjectiveSection } from "@/widgets/objective/ObjectiveSection";
import { SeverityChip } from "@/widgets/Severity";
import { SourceList } from "@/widgets/SourceList";

import { Neighborhood } from "./Neighborhood";
import { RequestKinds } from "./RequestKinds";
import { ResourceHeader } from "./ResourceHeader";
import { ResourcePictures } from "./ResourcePictures";
import styles from "./Resources.module.css";
import { DEFAULT_RESOURCE_MINUTES } from "./search";

/** Servers and their containers. */
const SERVES: readonly ResourceDetail["kind"][] = ["cgroup", "dns_server", "tcp_server"];

const route = getRouteApi("/signed-in/resources/$resourceId");

export function ResourcePage(): ReactElement {
  const { resourceId } = route.useParams();
  const { data: resource, isError, error, refetch } = useQuery(resourceQuery(resourceId));
  if (resource === undefined) {
    return (
      <Page title="Resource" ownHeading>
        {isError ? <ErrorState heading="h1" {...explain(error)} onRetry={() => void refetch()} /> : <Skeleton lines={6} height={44} label="Loading resource" />}
      </Page>
    );
  }
  return (
    <Page title={resource.name} ownHeading>
      <ResourceHeader resource={resource} />
      <ResourcePictures key={resource.id} resource={resource} />
      {resource.kind === "tcp_server" && (
        <div className={styles["kinds"]}>
          <RequestKinds resourceId={resource.id} />
        </div>
      )}
      {SERVES.includes(resource.kind) && <Calls resource={resource} />}
      {resource.kind !== "external" && <Body resource={resource} />}
    </Page>
  );
}

/** Who calls it and what it calls, over the window of its pictures. */
function Calls({ resource }: { resource: ResourceDetail }): ReactElement {
  const { minutes = DEFAULT_RESOURCE_MINUTES, to, hops = 1 } = route.useSearch();
  const endUs = to ?? (resource.active ? undefined : parseUs(resource.last_seen_at) + US_PER_S);
  const navigate = route.useNavigate();
  return (
    <div className={styles["kinds"]}>
      <Neighborhood
        resourceId={resource.id}
        window={{ minutes, to: endUs }}
        hops={hops}
        onHops={(next) => void navigate({ search: (before) => ({ ...before, hops: next === 2 ? 2 : undefined }), replace: true, resetScroll: false })}
      />
    </div>
  );
}

/** Facts known to collectors. */
function Body({ resource }: { resource: ResourceDetail }): ReactElement {
  return (
    <div className={styles["body"]}>
      <Section title="Facts" note="In effect now.">
        <FactTable facts={resource.facts} />
        {resource.facts.length === 0 && <p className={styles["dim"]}>No facts known.</p>}
        <History resource={resource} />
      </Section>
      <div className={styles["column"]}>
        {SERVES.includes(resource.kind) && <ObjectiveSection resourceId={resource.id} name={resource.name} />}
        <Incidents resourceId={resource.id} />
        {resource.children.length > 0 && (
          <Section title="Children">
            <ul className={styles["children"]}>
              {resource.children.map((child) => (
                <li key={child.id}>
                  <Link to="/resources/$resourceId" params={{ resourceId: child.id }}>
                    {child.name}
                  </Link>
                  <span className={styles["dim"]}>{sentence(child.kind)}</span>
                </li>
              ))}
            </ul>
          </Section>
        )}
        <Section title="Sources on its node">
          <SourceList sources={resource.sources} />
        </Section>
      </div>
    </div>
  );
}

/** Facts that have changed, newest change first. */
function History({ resource }: { resource: ResourceDetail }): ReactElement | null {
  const changed = resource.history.filter((fact) => resource.history.some((other) => other.name === fact.name && other.since !== fact.since)).toReversed();
  if (changed.length === 0) return null;
  return (
    <div style={{ marginTop: 20 }}>
      <FactTable facts={changed} caption="Changes" />
    </div>
  );
}

function Incidents({ resourceId }: { resourceId: number }): ReactElement | null {
  const { data, isPending } = useInfiniteQuery(incidentsQuery({ subject: resourceId }));
  const { data: diagnosis, isPending: isDiagnosisPending } = useQuery(diagnosisQuery(resourceId));
  if (isPending || isDiagnosisPending) return <Pending />;
  if (data === undefined || diagnosis === undefined || diagnosis.subject_id === null) return null;
  const incidents = data.pages[0]?.items ?? [];
  return (
    <Section title="Incidents" note={<LastLook until={diagnosis.diagnosed_until} />}>
      {incidents.length === 0 && <p className={styles["dim"]}>No incidents.</p>}
      <ul className={styles["children"]}>
        {incidents.map((incident) => (
          <li key={incident.id}>
            <span>
              <SeverityChip severity={incident.severity} />{" "}
              <Link to="/incidents/$incidentId" params={{ incidentId: incident.id }}>
                {incident.title}
              </Link>
            </span>
            <span className={styles["dim"]}>
              <Time at={incident.onset_at} />
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function LastLook({ until }: { until: string | null }): ReactElement {
  if (until === null) return <>Not diagnosed yet: no trigger so far.</>;
  return (
    <>
      Diagnosed <Time at={until} />.
    </>
  );
}
