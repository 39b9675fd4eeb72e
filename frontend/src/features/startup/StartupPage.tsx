import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";

import { explain } from "@/api/problem";
import { podStartQuery, type PodStart } from "@/api/startup";
import { plural } from "@/lib/format";
import { clock } from "@/lib/time";
import { Button } from "@/ui/Button";
import { Page } from "@/ui/Page";
import { Section } from "@/ui/Section";
import { EmptyState, ErrorState, Skeleton } from "@/ui/states";
import { SeverityChip } from "@/widgets/Severity";
import { WindowControls } from "@/widgets/WindowControls";

import { Changes } from "./Changes";
import { OverTime } from "./OverTime";
import { PhaseTable } from "./PhaseTable";
import { PodTable } from "./PodTable";
import { duration, verdict } from "./pieces";
import { DEFAULT_MINUTES, MINUTES, type StartupSearch } from "./search";
import { Stacks } from "./Stacks";
import styles from "./Startup.module.css";
import { WhatIf } from "./WhatIf";

const route = getRouteApi("/signed-in/startup");
const LEAD = "How long pods take to start on a node, from creation until all containers run, without image pulls: against the 5 s objective and phase by phase.";

export function StartupPage(): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (next: Partial<StartupSearch>): void => void navigate({ search: (before) => ({ ...before, ...next }), replace: true, resetScroll: false });
  const { data: page, isError, error, refetch } = useQuery(podStartQuery({ node: search.node, minutes: search.minutes ?? DEFAULT_MINUTES, to: search.to, split: search.split }));
  return (
    <Page title="Pod start" lead={LEAD} actions={<Controls page={page} pending={page === undefined && !isError} search={search} onChange={change} />}>
      {page === undefined ? (
        isError ? (
          <ErrorState {...explain(error)} onRetry={() => void refetch()} />
        ) : (
          <Skeleton lines={5} height={48} label="Loading pod starts" />
        )
      ) : page.starts === null ? (
        <Nothing page={page} />
      ) : (
        <Loaded page={page} search={search} onChange={change} />
      )}
    </Page>
  );
}

interface ControlsProps {
  page: PodStart | undefined;
  search: StartupSearch;
  onChange: (next: Partial<StartupSearch>) => void;
}

function Controls({ page, pending, search, onChange }: ControlsProps & { pending: boolean }): ReactElement {
  const minutes = search.minutes ?? DEFAULT_MINUTES;
  return (
    <WindowControls
      node={page?.node}
      nodes={page?.nodes ?? []}
      minutes={minutes}
      choices={MINUTES}
      pending={pending}
      fixed={search.to !== undefined}
      onNode={(node) => onChange({ node, split: undefined })}
      onMinutes={(choice) => onChange({ minutes: choice === DEFAULT_MINUTES ? undefined : choice })}
      onNow={() => onChange({ to: undefined })}
    />
  );
}

function Loaded({ page, search, onChange }: ControlsProps & { page: PodStart }): ReactElement {
  const { starts, verifier, node } = page;
  return (
    <div className={styles["parts"]}>
      <section aria-label="Against the objective">
        <h2 className={styles["verdict"]}>{verdict(page)}</h2>
        <p className={styles["window"]}>
          {node?.name}, {clock(page.from_us)} to {clock(page.to_us)} local, {clock(page.to_us, 0, "utc")} UTC: {plural(starts?.starts ?? 0, "start")}
          {page.with_images !== null && `; with image pulls p50 ${duration(page.with_images.p50_us)}, p99 ${duration(page.with_images.p99_us)}`}
          {[page.kubelet !== null && `kubelet ${page.kubelet}`, page.cilium !== null && `Cilium ${page.cilium}`, page.kernel !== null && `Linux ${page.kernel}`].filter(Boolean).map((text) => ` · ${String(text)}`)}
        </p>
        {page.incidents.length > 0 && (
          <ul className={styles["incidents"]} aria-label="Incidents of this node">
            {page.incidents.map((incident) => (
              <li key={incident.id}>
                <SeverityChip severity={incident.severity} />
                <Link to="/incidents/$incidentId" params={{ incidentId: incident.id }}>
                  {incident.title}
                </Link>
              </li>
            ))}
          </ul>
        )}
        <Stacks page={page} />
        <Notes page={page} />
      </section>
      <Section title="Starts over time" note="One dot per kubelet scrape: the median of the starts since the last one, with a line up to the slowest.">
        <OverTime page={page} onSplit={(us) => onChange({ split: us })} />
      </Section>
      {page.changes.length > 0 && (
        <Section title="Before and after" aside={search.split !== undefined && <Button onClick={() => onChange({ split: undefined })}>Clear selected time</Button>}>
          <Changes changes={page.changes} />
        </Section>
      )}
      <Section title="Phase by phase" note="Each phase with its own percentiles. Parts of a phase are indented.">
        <PhaseTable parts={page.parts} />
      </Section>
      {page.slowest.length > 0 && (
        <Section title="Slowest pods" note="From the kubelet log, slowest start first. Image pulls are not counted as start.">
          <PodTable pods={page.slowest} objectiveUs={page.objective_us} />
        </Section>
      )}
      {verifier !== null && node !== null && (
        <Section title="Without the verifier" note={verifierNote(page)}>
          <WhatIf key={node.id} page={page} verifier={verifier} nodeId={node.id} />
        </Section>
      )}
    </div>
  );
}

const verifierNote = (page: PodStart): string => {
  const { verifier } = page;
  if (verifier === null) return "";
  return verifier.waits ? `${verifier.command} loaded ${plural(verifier.sets, "set")} of programs. Pods wait while the kernel verifies theirs.` : `Pods do not wait for it: ${verifier.reason ?? ""}`;
};

function Notes({ page }: { page: PodStart }): ReactElement | null {
  if (page.notes.length === 0) return null;
  return (
    <ul className={styles["notes"]} aria-label="Not measured here">
      {page.notes.map((note) => (
        <li key={note}>{note}</li>
      ))}
    </ul>
  );
}

function Nothing({ page }: { page: PodStart }): ReactElement {
  return (
    <EmptyState title={page.node === null ? "No node reports pod starts" : "No pods started in this window"} action={<Link to="/settings/collectors">Go to collectors</Link>}>
      <p>A collector on a Kubernetes node reads pod starts from the kubelet (source kubelet_metrics: a service account that can get nodes/metrics, or the read-only port), and from Cilium if it serves metrics.</p>
      <p>This page then shows where the time of a start goes, and how long it would take without the eBPF programs that the kernel verifies for each pod.</p>
      <Notes page={page} />
    </EmptyState>
  );
}
