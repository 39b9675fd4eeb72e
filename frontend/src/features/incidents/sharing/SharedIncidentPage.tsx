import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useRef, useState, type ReactElement } from "react";

import { ApiError, explain } from "@/api/problem";
import { sharedChangesQuery, sharedIncidentQuery, sharedTimeline, type SharedIncident } from "@/api/sharing";
import { measure } from "@/lib/format";
import { parseView } from "@/lib/search";
import { duration, parseUs } from "@/lib/time";
import type { TimeView } from "@/lib/timeView";
import { Button } from "@/ui/Button";
import { Chip } from "@/ui/Chip";
import { Page } from "@/ui/Page";
import { Section } from "@/ui/Section";
import { Skeleton } from "@/ui/states";
import { Time, useNowUs } from "@/ui/Time";
import { Evidence } from "@/widgets/Evidence";
import { Figures } from "@/widgets/Figures";
import { FixList } from "@/widgets/FixList";
import { Prose } from "@/widgets/Prose";
import { References } from "@/widgets/References";
import { Rivals } from "@/widgets/Rivals";
import { SeverityChip, StateChip } from "@/widgets/Severity";
import { History } from "@/features/incidents/History";
import pageStyles from "@/features/incidents/IncidentPage.module.css";
import { useIncidentPicture } from "@/features/incidents/useIncidentPicture";
import { VerificationSection } from "@/features/incidents/verification/VerificationSection";
import { receiveTimeline } from "@/widgets/timeline/receive";
import { TimelineView, type TimelineQuery } from "@/widgets/timeline/TimelineView";
import type { PictureState } from "@/widgets/timeline/usePicture";

import styles from "./Sharing.module.css";

const route = getRouteApi("/shared");

/** Views are not in the browser's history: going back shows the whole window. */
const nowhere = (): boolean => false;

/** One incident for holders of its link. The secret follows # in the address, so no server receives it. */
export function SharedIncidentPage(): ReactElement {
  const [secret] = useState(() => window.location.hash.slice(1));
  const { data: incident, error, refetch } = useQuery(sharedIncidentQuery(secret));
  // A revoked link shows nothing, even if data was loaded before.
  const ended = error instanceof ApiError && error.status === 401;
  return (
    <>
      <header className={styles["bar"]}>
        <span className={styles["brand"]}>jitterscope</span>
        {incident !== undefined && !ended && (
          <span>
            Read-only view of one incident, until <Time at={incident.link_expires_at} style="clock" />
          </span>
        )}
      </header>
      {secret === "" ? (
        <Told title="Incomplete link" detail="The part after # is missing. Copy the whole link." />
      ) : incident !== undefined && !ended ? (
        <Shown incident={incident} secret={secret} />
      ) : error !== null ? (
        <Told {...explain(error)} {...(ended ? {} : { onRetry: () => void refetch() })} />
      ) : (
        <Page title="Shared incident" ownHeading>
          <Skeleton lines={6} height={44} label="Loading incident" />
        </Page>
      )}
    </>
  );
}

function Told({ title, detail, onRetry }: { title: string; detail: string; onRetry?: () => void }): ReactElement {
  return (
    <Page title={title} ownHeading>
      <div role="alert">
        <h1>{title}</h1>
        <p className={styles["summary"]}>{detail}</p>
      </div>
      {onRetry !== undefined && <Button onClick={onRetry}>Try again</Button>}
    </Page>
  );
}

function Shown({ incident, secret }: { incident: SharedIncident; secret: string }): ReactElement {
  const search = route.useSearch();
  const now = useNowUs();
  const load = useCallback(
    (part: TimeView): TimelineQuery => ({
      queryKey: ["shared", secret, "timeline", part.fromUs, part.toUs],
      queryFn: () => receiveTimeline(sharedTimeline(secret, part.fromUs, part.toUs)),
    }),
    [secret],
  );
  // Not in the address, which must stay the link.
  const [picture, setPicture] = useState<PictureState>({ view: parseView(search.view), selection: parseView(search.sel) });
  const { extent, moment, showing } = useIncidentPicture(incident, load);
  const changes = useQuery(sharedChangesQuery(secret));
  const section = useRef<HTMLElement>(null);
  const show = (evidence: TimeView): void => {
    setPicture(showing(evidence));
    section.current?.scrollIntoView({ block: "nearest" });
  };
  const endUs = incident.resolved_at === null ? now : parseUs(incident.resolved_at);
  return (
    <Page title={incident.title} ownHeading>
      <div className={styles["chips"]}>
        <SeverityChip severity={incident.severity} />
        <StateChip state={incident.state} />
        <Chip tone="dim">for {duration(Math.max(0, endUs - parseUs(incident.onset_at)))}</Chip>
        <Chip>{incident.subject.name}</Chip>
        {incident.subject.kind !== "node" && <Chip tone="dim">{incident.subject.node}</Chip>}
      </div>
      <h1>{incident.title}</h1>
      <p className={styles["summary"]}>
        <Prose text={incident.summary} />
      </p>
      <div className={styles["figures"]}>
        <Figures figures={incident.figures} />
      </div>
      <section ref={section} aria-label="What happened" className={pageStyles["picture"]}>
        <TimelineView
          extent={extent}
          first={moment.view}
          moment={moment}
          load={load}
          picture={picture}
          onPicture={setPicture}
          goBack={nowhere}
          resourceId={null}
          changes={changes.isError ? null : changes.data}
          name={incident.title}
          lead={incident.cause.startsWith("dns/") ? "connections" : "cpu"}
        />
      </section>
      <div className={pageStyles["body"]}>
        {incident.verification !== null && (
          <div className={pageStyles["wide"]}>
            <VerificationSection verification={incident.verification} />
          </div>
        )}
        {incident.also_affected.length > 0 && (
          <div className={pageStyles["wide"]}>
            <Section title="Also affected" note="The same fault at the same time is one incident.">
              <ul>
                {incident.also_affected.map((member) => (
                  <li key={`${member.name} ${member.node}`}>
                    {member.name} on {member.node}
                    {member.figures.map((figure) => `, ${figure.title.toLowerCase()} ${measure(figure.value, figure.unit)}`)}
                  </li>
                ))}
              </ul>
            </Section>
          </div>
        )}
        <div className={pageStyles["wide"]}>
          <Section title="What to change" note="Fixes for the versions and settings found here. One that cannot help is listed with the reason.">
            <FixList fixes={incident.fixes} figures={incident.figures} />
          </Section>
        </div>
        <Section title="Evidence" note="Measured in this window, compared with what chance alone would give.">
          <Evidence evidence={incident.evidence} onShow={show} />
        </Section>
        <div className={pageStyles["column"]}>
          <Section title="Other causes considered" note="Causes with the same symptoms, and what the data says about each.">
            <Rivals rivals={incident.rivals} notEnoughData={[]} linked={false} />
          </Section>
          <Section title="History">
            <History history={incident.history.map(({ by, ...entry }) => ({ ...entry, actor: by }))} />
          </Section>
        </div>
        {incident.references.length > 0 && (
          <div className={pageStyles["wide"]}>
            <Section title="References">
              <References references={incident.references} />
            </Section>
          </div>
        )}
      </div>
    </Page>
  );
}
