import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useMemo, useState, type ReactElement } from "react";

import { api } from "@/api/client";
import { inColumns } from "@/api/columns";
import type { ResourceDetail } from "@/api/resources";
import { formatView, parseView } from "@/lib/search";
import { minutesText, parseUs, US_PER_S } from "@/lib/time";
import { around, type TimeView } from "@/lib/timeView";
import { useStays } from "@/lib/useStays";
import { Button } from "@/ui/Button";
import { Choice } from "@/ui/Choice";
import { Section } from "@/ui/Section";
import { useNowUs } from "@/ui/Time";
import { receiveTimeline } from "@/widgets/timeline/receive";
import { TimelineView, type TimelineQuery } from "@/widgets/timeline/TimelineView";
import { usePicture } from "@/widgets/timeline/usePicture";
import { useChanges } from "@/widgets/useChanges";

import { FromPrometheus } from "./FromPrometheus";
import { Metrics } from "./Metrics";
import styles from "./Resources.module.css";
import { DEFAULT_RESOURCE_MINUTES } from "./search";

const route = getRouteApi("/signed-in/resources/$resourceId");

const RANGES = [1, 5, 15, 60, 360, 1440].map((minutes) => [minutes, minutesText(minutes)] as const);
/** Long enough to see a stall, the time before it, and its end. */
const MOMENT_US = 5 * US_PER_S;
/** Batches arrive every 2 s, so the newest ticks are still in transit. */
const LAG_US = 3 * US_PER_S;

/** The timeline of a node or cgroup (or of the cgroup that a resource belongs to) and its other metrics, over one window. */
export function ResourcePictures({ resource }: { resource: ResourceDetail }): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const stays = useStays();
  const minutes = search.minutes ?? DEFAULT_RESOURCE_MINUTES;
  const nowUs = useNowUs();
  const [frozenUs, setFrozenUs] = useState<number | null>(search.to ?? null);
  // A resource that is gone has no new data: its window ends where its data ends.
  const endUs = frozenUs ?? (resource.active ? nowUs - LAG_US : parseUs(resource.last_seen_at) + US_PER_S);
  const extent = useMemo<TimeView>(() => ({ fromUs: endUs - minutes * 60 * US_PER_S, toUs: endUs }), [endUs, minutes]);
  const live = frozenUs === null && resource.active;

  const load = useCallback((part: TimeView): TimelineQuery => timelineQuery(resource.id, part), [resource.id]);
  const { picture, setPicture, goBack } = usePicture(
    { view: parseView(search.view), selection: parseView(search.sel) },
    (state, isStep) => {
      if (!stays()) return;
      void navigate({
        // A link to a part of the timeline must keep the part's window.
        search: (before) => ({ ...before, view: formatView(state.view), sel: formatView(state.selection), to: state.view === null ? before.to : endUs }),
        replace: !isStep,
        resetScroll: false,
      });
    },
  );
  const momentUs = resource.throttled_at === null ? null : within(parseUs(resource.throttled_at), extent);
  const moment = useMemo(() => (momentUs === null ? null : { name: "Trigger", us: momentUs, view: around(momentUs, MOMENT_US, extent) }), [momentUs, extent]);
  const changes = useChanges(resource.id, extent);
  const hasTimeline = ["node", "cgroup", "process", "dns_server", "tcp_server"].includes(resource.kind);

  return (
    <>
      <div className={styles["range"]}>
        <Choice label="Window" options={RANGES} value={minutes} onChange={(value) => void navigate({ search: { minutes: value, to: search.to, hops: search.hops }, replace: true })} />
        {resource.active && (
          <Button aria-pressed={live} onClick={() => setFrozenUs(live ? endUs : null)}>
            {live ? "● Live" : "○ Live"}
          </Button>
        )}
      </div>
      {hasTimeline && (
        <section aria-label="Timeline" style={{ marginTop: 14 }}>
          <TimelineView
            extent={extent}
            first={extent}
            moment={moment}
            load={load}
            picture={picture}
            onPicture={setPicture}
            goBack={goBack}
            resourceId={resource.id}
            changes={changes}
            name={resource.name}
          />
        </section>
      )}
      {resource.kind !== "external" && (
        <div style={{ marginTop: 28 }}>
          <Section title="All metrics" note="Band: lowest to highest tick of each point. Line: mean. For latency: median, p99 and highest.">
            <Metrics resource={resource} window={extent} changes={changes} />
          </Section>
        </div>
      )}
      <FromPrometheus resource={resource} window={extent} />
    </>
  );
}

const within = (us: number, extent: TimeView): number | null => (us >= extent.fromUs && us < extent.toUs ? us : null);

function timelineQuery(id: number, part: TimeView): TimelineQuery {
  return {
    queryKey: ["resources", "timeline", id, part.fromUs, part.toUs],
    queryFn: () =>
      receiveTimeline(
        api.GET("/api/v1/resources/{resource_id}/timeline", {
          params: { path: { resource_id: id }, query: { from: String(part.fromUs), to: String(part.toUs), queries: 50_000 } },
          ...inColumns,
        }),
      ),
  };
}
