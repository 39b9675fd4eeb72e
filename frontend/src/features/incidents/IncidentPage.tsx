import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useCallback, useMemo, useRef, type ReactElement } from "react";

import { api, unwrap } from "@/api/client";
import { incidentKeys, incidentQuery, type Incident } from "@/api/incidents";
import { explain } from "@/api/problem";
import { formatView, parseView } from "@/lib/search";
import { parseUs, US_PER_S } from "@/lib/time";
import { around, clampView, span, type TimeView } from "@/lib/timeView";
import { Page } from "@/ui/Page";
import { Section } from "@/ui/Section";
import { ErrorState, Skeleton } from "@/ui/states";
import { useToast } from "@/ui/Toast";
import { Evidence } from "@/widgets/Evidence";
import { FixList } from "@/widgets/FixList";
import { References } from "@/widgets/References";
import { Rivals } from "@/widgets/Rivals";
import { decodeTimeline } from "@/widgets/timeline/decode";
import { firstView, TimelineView, type TimelineQuery } from "@/widgets/timeline/TimelineView";
import { usePicture } from "@/widgets/timeline/usePicture";

import { AlsoAffected } from "./AlsoAffected";
import { CapturesSection } from "./captures/CapturesSection";
import { History } from "./History";
import { IncidentActions } from "./IncidentActions";
import { IncidentHeader } from "./IncidentHeader";
import styles from "./IncidentPage.module.css";
import { IncidentWhatIf } from "./IncidentWhatIf";
import { DentryWhatIf } from "./kernel/DentryWhatIf";
import { MemoryWhatIf } from "./memory/MemoryWhatIf";
import { SubjectFacts } from "./SubjectFacts";
import { useFixApplying } from "./useFixApplying";
import { useIncidentKeys } from "./useIncidentKeys";
import { VerificationSection } from "./verification/VerificationSection";

/** What came before and how it ended belongs to the picture. */
const MARGIN_US = 30 * US_PER_S;

const OTHER_FIXES = "Each fix by the versions and settings that were found here; one that cannot help is listed with the reason.";

/** What these leave in the kernel costs most when it goes. */
const NAMES_PILE_UP: ReadonlySet<string> = new Set(["kernel/negative_dentry_growth", "kernel/nss_stat_storm", "kernel/dentry_reclaim_contention"]);

const route = getRouteApi("/signed-in/incidents/$incidentId");

export function IncidentPage(): ReactElement {
  const { incidentId } = route.useParams();
  const { data: incident, isError, error, refetch } = useQuery(incidentQuery(incidentId));
  if (incident === undefined) {
    return (
      <Page title="Incident" ownHeading>
        {isError ? <ErrorState {...explain(error)} onRetry={() => void refetch()} /> : <Skeleton lines={6} height={44} label="Loading the incident" />}
      </Page>
    );
  }
  // Another incident is another page: nothing of the first one's picture may stay.
  return <Loaded key={incident.id} incident={incident} />;
}

function Loaded({ incident }: { incident: Incident }): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const toast = useToast();
  useIncidentKeys(incident);

  const extent = useMemo<TimeView>(
    () => ({ fromUs: parseUs(incident.window_from) - MARGIN_US, toUs: parseUs(incident.window_to) + MARGIN_US }),
    [incident.window_from, incident.window_to],
  );
  const load = useCallback((part: TimeView): TimelineQuery => timelineQuery(incident.id, part), [incident.id]);
  const [picture, setPicture] = usePicture(
    { view: parseView(search.view), selection: parseView(search.sel) },
    (state) =>
      void navigate({
        search: (before) => ({ ...before, view: formatView(state.view), sel: formatView(state.selection) }),
        replace: true,
        resetScroll: false,
      }),
  );
  const section = useRef<HTMLElement>(null);
  const show = (evidence: TimeView): void => {
    setPicture({ view: around(evidence.fromUs + span(evidence) / 2, span(evidence) * 1.5, extent), selection: evidence });
    section.current?.scrollIntoView({ block: "nearest" });
  };
  const slow = incident.impact.slow_ratio !== null;
  // What-if replays the CPU of a cgroup; what a server waits for, memory and the kernel are not in it.
  const isDns = incident.cause.startsWith("dns/");
  const isCpu = incident.cause.startsWith("cpu/");
  const triggerUs = parseUs(incident.trigger_at);
  const view = useMemo(() => (picture.view === null ? firstView(extent, triggerUs) : clampView(picture.view, extent)), [picture.view, extent, triggerUs]);
  const setView = useCallback((next: TimeView) => setPicture((before) => ({ ...before, view: next })), [setPicture]);
  const setTried = useCallback(
    (tried: string | undefined) => void navigate({ search: (before) => ({ ...before, try: tried }), replace: true, resetScroll: false }),
    [navigate],
  );
  const applying = useFixApplying(incident);

  return (
    <Page title={incident.title} ownHeading>
      <IncidentHeader incident={incident} actions={<IncidentActions incident={incident} />} />
      <section ref={section} aria-label="What happened" className={styles["picture"]}>
        <TimelineView
          extent={extent}
          triggerUs={triggerUs}
          load={load}
          picture={picture}
          onPicture={setPicture}
          lead={isDns ? "connections" : "cpu"}
        />
      </section>
      <div className={styles["body"]}>
        {incident.also_affected.length > 0 && (
          <div className={styles["wide"]}>
            <Section title="Also affected" note="The same trouble at the same time: one incident, which ends when all of them are quiet.">
              <AlsoAffected members={incident.also_affected} />
            </Section>
          </div>
        )}
        {incident.verification !== null && (
          <div className={styles["wide"]}>
            <VerificationSection verification={incident.verification} />
          </div>
        )}
        <div className={styles["wide"]}>
          <Section
            title="What to change"
            note={!isCpu ? OTHER_FIXES : `Each fix replayed on the recorded trace: predicted share of ${slow ? "answers over 20 ms" : "periods throttled"}, with its interval, on one scale.`}
          >
            <FixList
              fixes={incident.fixes}
              impact={incident.impact}
              onCopied={(fix) => toast({ text: `Patch copied: ${fix.title}` })}
              applying={applying}
            />
          </Section>
        </div>
        {isCpu && (
          <div className={styles["wide"]}>
            <IncidentWhatIf incident={incident} tried={search.try} onTried={setTried} extent={extent} view={view} onView={setView} />
          </div>
        )}
        {incident.cause === "memory/query_burst_oom" && (
          <div className={styles["wide"]}>
            <MemoryWhatIf incident={incident} />
          </div>
        )}
        {NAMES_PILE_UP.has(incident.cause) && (
          <div className={styles["wide"]}>
            <DentryWhatIf incident={incident} />
          </div>
        )}
        <div className={styles["wide"]}>
          <CapturesSection incident={incident} />
        </div>
        <Section title="Evidence" note="Measured in this window, each beside what chance alone would give.">
          <Evidence evidence={incident.evidence} onShow={show} />
        </Section>
        <div className={styles["column"]}>
          <Section title="What else it could be" note="Causes that look the same, and what the data say about them.">
            <Rivals rivals={incident.rivals} notEnoughData={incident.not_enough_data} />
          </Section>
          <Section title="History">
            <History history={incident.history} />
          </Section>
        </div>
        <div className={styles["wide"]}>
          <Section
            title="Facts of the subject"
            aside={
              <>
                {isDns && (
                  <>
                    <Link to="/dns" search={{ node: incident.subject.resource_id, to: parseUs(incident.window_to) }}>
                      The DNS path then
                    </Link>
                    {" · "}
                  </>
                )}
                {incident.cause.startsWith("startup/") && (
                  <>
                    <Link to="/startup" search={{ node: incident.subject.resource_id, to: parseUs(incident.window_to), minutes: 15 }}>
                      Pod starts then
                    </Link>
                    {" · "}
                  </>
                )}
                <CauseLink incident={incident} />
              </>
            }
          >
            <SubjectFacts resourceId={incident.subject.resource_id} />
          </Section>
        </div>
        {incident.references.length > 0 && (
          <div className={styles["wide"]}>
            <Section title="Read more">
              <References references={incident.references} />
            </Section>
          </div>
        )}
      </div>
    </Page>
  );
}

function CauseLink({ incident }: { incident: Incident }): ReactElement {
  return (
    <Link to="/causes" search={{ cause: incident.cause }}>
      About this cause: {incident.cause_title}
    </Link>
  );
}

function timelineQuery(id: number, part: TimeView): TimelineQuery {
  return {
    queryKey: incidentKeys.timeline(id, part.fromUs, part.toUs),
    queryFn: async () =>
      decodeTimeline(
        await unwrap(
          api.GET("/api/v1/incidents/{incident_id}/timeline", {
            params: { path: { incident_id: id }, query: { from: String(part.fromUs), to: String(part.toUs), queries: 100_000 } },
          }),
        ),
      ),
  };
}
