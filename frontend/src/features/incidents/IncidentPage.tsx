import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useCallback, useMemo, useRef, type ReactElement } from "react";

import { api } from "@/api/client";
import { capturesQuery } from "@/api/captures";
import { incidentKeys, incidentQuery, type Incident } from "@/api/incidents";
import { inColumns } from "@/api/columns";
import { explain } from "@/api/problem";
import { kustomizeQuery } from "@/api/pulls";
import { formatView, parseView } from "@/lib/search";
import { whatIfModelsQuery } from "@/api/whatif";
import { parseUs } from "@/lib/time";
import type { TimeView } from "@/lib/timeView";
import { useStays } from "@/lib/useStays";
import { Page } from "@/ui/Page";
import { Section } from "@/ui/Section";
import { ErrorState, Skeleton } from "@/ui/states";
import { useToast } from "@/ui/Toast";
import { Evidence } from "@/widgets/Evidence";
import { FixList } from "@/widgets/FixList";
import { scaleOf } from "@/widgets/fixScale";
import { ObjectiveSection } from "@/widgets/objective/ObjectiveSection";
import { References } from "@/widgets/References";
import { Rivals } from "@/widgets/Rivals";
import { receiveTimeline } from "@/widgets/timeline/receive";
import { TimelineView, type TimelineQuery, type TimelineViewProps } from "@/widgets/timeline/TimelineView";
import type { PictureState } from "@/widgets/timeline/usePicture";
import { useChanges } from "@/widgets/useChanges";

import { AlsoAffected } from "./AlsoAffected";
import { CapturesSection } from "./captures/CapturesSection";
import { History } from "./History";
import { IncidentActions } from "./IncidentActions";
import { IncidentHeader } from "./IncidentHeader";
import styles from "./IncidentPage.module.css";
import { IncidentModel, IncidentWhatIf } from "./IncidentWhatIf";
import { NoteForm } from "./NoteForm";
import { NoteTools } from "./NoteTools";
import { usePictureControl, usePictureNow } from "./pictureContext";
import { PictureProvider } from "./PictureProvider";
import { usePulls } from "./pulls/usePulls";
import { SectionLinks, type SectionLink } from "./SectionLinks";
import { ShareMenu } from "./sharing/ShareMenu";
import { SubjectFacts } from "./SubjectFacts";
import { useFixApplying } from "./useFixApplying";
import { useIncidentKeys } from "./useIncidentKeys";
import { useIncidentPicture } from "./useIncidentPicture";
import { VerificationSection } from "./verification/VerificationSection";

const OTHER_FIXES = "Fixes for the versions and settings found here. One that cannot help is listed with the reason.";

const route = getRouteApi("/signed-in/incidents/$incidentId");

export function IncidentPage(): ReactElement {
  const { incidentId } = route.useParams();
  const { data: incident, isError, error, refetch } = useQuery(incidentQuery(incidentId));
  if (incident === undefined) {
    return (
      <Page title="Incident" ownHeading>
        {isError ? <ErrorState heading="h1" {...explain(error)} onRetry={() => void refetch()} /> : <Skeleton lines={6} height={44} label="Loading incident" />}
      </Page>
    );
  }
  // A different incident is a new page: it must not keep the previous timeline's state.
  return <Loaded key={incident.id} incident={incident} />;
}

function Loaded({ incident }: { incident: Incident }): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const stays = useStays();
  const toast = useToast();
  useIncidentKeys(incident);
  // Reported a moment after the pointer rests: a navigation started by then must not be disturbed.
  const keep = useCallback(
    (part: Partial<typeof search>, replace = true) => {
      if (stays()) void navigate({ search: (before) => ({ ...before, ...part }), replace, resetScroll: false });
    },
    [navigate, stays],
  );

  const load = useCallback((part: TimeView): TimelineQuery => timelineQuery(incident.id, part), [incident.id]);
  const { extent, moment, showing } = useIncidentPicture(incident, load);
  const changes = useChanges(incident.subject.resource_id, extent);
  const section = useRef<HTMLElement>(null);
  const bringUp = useCallback(() => section.current?.scrollIntoView({ block: "nearest" }), []);
  const tellCopied = useCallback((fix: Incident["fixes"][number]) => toast({ text: `Patch copied: ${fix.title}` }), [toast]);
  const scale = useMemo(() => scaleOf(incident.fixes, incident.figures), [incident.fixes, incident.figures]);
  const whatIfs = useQuery(whatIfModelsQuery(incident.cause));
  const models = whatIfs.data ?? [];
  const replayed = models.some(({ id }) => id === "cpu");
  const area = incident.cause.split("/", 1)[0];
  const isDns = area === "dns";
  const setTried = useCallback((tried: string | undefined) => keep({ try: tried }), [keep]);
  const applying = useFixApplying(incident);
  const pulls = usePulls(incident);
  const kustomize = useQuery(kustomizeQuery(incident));
  const captures = useQuery(capturesQuery(incident.id, incident.resolved_at === null));
  const links: SectionLink[] = [
    { id: "picture", name: "What happened" },
    { id: "fixes", name: "What to change" },
    ...(models.length === 0 ? [] : [{ id: "what-if", name: "What if" }]),
    { id: "evidence", name: "Evidence" },
    { id: "other-causes", name: "Other causes" },
    ...((captures.data?.items.length ?? 0) === 0 ? [] : [{ id: "what-ran", name: "What was running" }]),
    { id: "facts", name: "Facts" },
  ];

  return (
    <PictureProvider
      url={{ view: parseView(search.view), selection: parseView(search.sel) }}
      onRest={(state, isStep) => keep({ view: formatView(state.view), sel: formatView(state.selection) }, !isStep)}
      extent={extent}
      first={moment.view}
    >
      <Page title={incident.title} ownHeading>
        <div id="picture" tabIndex={-1} className={styles["first"]}>
          <IncidentHeader incident={incident} actions={<IncidentActions incident={incident}><ShareMenu incident={incident} /></IncidentActions>} />
          <section ref={section} aria-label="What happened" className={styles["picture"]}>
            <Picture
              extent={extent}
              first={moment.view}
              moment={moment}
              load={load}
              resourceId={incident.subject.resource_id}
              changes={changes}
              name={incident.title}
              lead={isDns ? "connections" : "cpu"}
            />
          </section>
        </div>
        <SectionLinks links={links} ready={!whatIfs.isPending && !captures.isPending} />
        <div className={styles["body"]}>
          {incident.also_affected.length > 0 && (
            <div className={styles["wide"]}>
              <Section title="Also affected" note="The same fault at the same time is one incident. It ends when all of these are quiet.">
                <AlsoAffected members={incident.also_affected} />
              </Section>
            </div>
          )}
          {incident.verification !== null && (
            <div className={styles["wide"]}>
              <VerificationSection verification={incident.verification} />
            </div>
          )}
          <div id="fixes" tabIndex={-1} className={styles["wide"]}>
            <Section
              title="What to change"
              note={!replayed || scale === null ? OTHER_FIXES : `Each fix replayed on the recorded trace: predicted share of ${scale.phrase} with its 90 % interval, on one scale.`}
            >
              <FixList
                fixes={incident.fixes}
                figures={incident.figures}
                landings={incident.landings}
                onCopied={tellCopied}
                applying={applying}
                pulls={pulls}
                kustomize={kustomize.data}
              />
            </Section>
          </div>
          {models.map((model, index) => (
            <div key={model.id} id={index === 0 ? "what-if" : undefined} tabIndex={-1} className={styles["wide"]}>
              {model.id === "cpu" ? (
                <IncidentWhatIf incident={incident} model={model} tried={search.try} onTried={setTried} extent={extent} />
              ) : (
                <IncidentModel incident={incident} model={model} />
              )}
            </div>
          ))}
          <div id="evidence" tabIndex={-1}>
            <Section title="Evidence" note="Measured in this window, compared with what chance alone would give.">
              <ShownEvidence incident={incident} showing={showing} onShown={bringUp} />
            </Section>
          </div>
          <div id="other-causes" tabIndex={-1} className={styles["column"]}>
            <Section title="Other causes considered" note="Causes with the same symptoms, and what the data says about each.">
              <Rivals rivals={incident.rivals} notEnoughData={incident.not_enough_data} />
            </Section>
            {incident.subject.kind === "cgroup" && <ObjectiveSection resourceId={incident.subject.resource_id} name={incident.subject.name} />}
            <Section title="History">
              <NoteForm incidentId={incident.id} />
              <History history={incident.history} below={(entry) => <NoteTools incidentId={incident.id} entry={entry} />} />
            </Section>
          </div>
          <div id="what-ran" tabIndex={-1} className={styles["wide"]}>
            <CapturesSection incident={incident} />
          </div>
          <div id="facts" tabIndex={-1} className={styles["wide"]}>
            <Section
              title="Facts"
              aside={
                <>
                  {isDns && (
                    <>
                      <Link to="/dns" search={{ node: incident.subject.resource_id, to: parseUs(incident.window_to) }}>
                        DNS path at that time
                      </Link>
                      {" · "}
                    </>
                  )}
                  {area === "pods" && (
                    <>
                      <Link to="/startup" search={{ node: incident.subject.resource_id, to: parseUs(incident.window_to), minutes: 15 }}>
                        Pod starts at that time
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
              <Section title="References">
                <References references={incident.references} />
              </Section>
            </div>
          )}
        </div>
      </Page>
    </PictureProvider>
  );
}

type PictureProps = Omit<TimelineViewProps, "picture" | "onPicture" | "goBack">;

function Picture(props: PictureProps): ReactElement {
  const { picture } = usePictureNow();
  const { setPicture, goBack } = usePictureControl();
  return <TimelineView {...props} picture={picture} onPicture={setPicture} goBack={goBack} />;
}

interface ShownEvidenceProps {
  incident: Incident;
  showing: (evidence: TimeView) => PictureState;
  onShown: () => void;
}

/** Evidence that the timeline can show. */
function ShownEvidence({ incident, showing, onShown }: ShownEvidenceProps): ReactElement {
  const { setPicture } = usePictureControl();
  const show = useCallback(
    (evidence: TimeView): void => {
      setPicture(showing(evidence));
      onShown();
    },
    [setPicture, showing, onShown],
  );
  return <Evidence evidence={incident.evidence} onShow={show} />;
}

function CauseLink({ incident }: { incident: Incident }): ReactElement {
  return (
    <Link to="/help/causes" search={{ cause: incident.cause }}>
      About this cause: {incident.cause_title}
    </Link>
  );
}

function timelineQuery(id: number, part: TimeView): TimelineQuery {
  return {
    queryKey: incidentKeys.timeline(id, part.fromUs, part.toUs),
    queryFn: () =>
      receiveTimeline(
        api.GET("/api/v1/incidents/{incident_id}/timeline", {
          params: { path: { incident_id: id }, query: { from: String(part.fromUs), to: String(part.toUs), queries: 100_000 } },
          ...inColumns,
        }),
      ),
  };
}
