import { useQuery } from "@tanstack/react-query";
import { lazy, memo, Suspense, useState, type ReactElement } from "react";

import { captureQuery, capturesQuery, type CaptureDetail, type CapturePart, type CaptureSummary } from "@/api/captures";
import type { Incident } from "@/api/incidents";
import { count, plural } from "@/lib/format";
import { duration, parseUs } from "@/lib/time";
import { Button } from "@/ui/Button";
import { Choice } from "@/ui/Choice";
import { Section } from "@/ui/Section";
import { Async } from "@/widgets/Async";

import styles from "./Captures.module.css";
import { ProcessTable } from "./ProcessTable";
import { SecondStrip } from "./SecondStrip";
import { WaitingTable } from "./WaitingTable";
import { captureAt, captureTitle } from "./words";

const FlameGraph = lazy(async () => ({ default: (await import("@/charts/flame/FlameGraph")).FlameGraph }));
const NODE: CapturePart = { time: null, scope: "node", pid: null };
const SUBJECT: CapturePart = { ...NODE, scope: "subject" };

/** What was running, as captured by the flight recorder. Empty if there is no capture. */
export const CapturesSection = memo(function CapturesSection({ incident }: { incident: Incident }): ReactElement | null {
  const captures = useQuery(capturesQuery(incident.id, incident.resolved_at === null));
  const [chosen, setChosen] = useState<number | null>(null);
  const items = captures.data?.items ?? [];
  const capture = items.find((one) => one.id === chosen) ?? captureAt(items, parseUs(incident.trigger_at));
  if (capture === null) return null;
  return (
    <Section
      title="What was running"
      note="The flight recorder samples the stacks of every CPU and keeps them in memory. The trigger saved the samples around it."
    >
      {/* A capture in use stays when one arrives that is closer to the trigger, or the trigger moves. The div only learns of the use. */}
      {/* eslint-disable-next-line jsx-a11y/no-static-element-interactions */}
      <div className={styles["kept"]} onFocus={() => setChosen(capture.id)}>
        {items.length > 1 && (
          <select className={styles["select"]} aria-label="Capture" value={capture.id} onChange={(event) => setChosen(Number(event.target.value))}>
            {items.map((one) => (
              <option key={one.id} value={one.id}>
                {captureTitle(one)}
              </option>
            ))}
          </select>
        )}
        <Capture key={capture.id} incident={incident} capture={capture} />
      </div>
    </Section>
  );
});

interface CaptureProps {
  incident: Incident;
  capture: CaptureSummary;
}

/** Opens at the subject's own processes, or at the whole node if that is the subject or if none of them was recorded. */
function Capture({ incident, capture }: CaptureProps): ReactElement {
  const ofNode = incident.subject.kind === "node";
  const own = useQuery({ ...captureQuery(incident.id, capture.id, SUBJECT), enabled: !ofNode });
  if (ofNode) return <Parts incident={incident} capture={capture} first={NODE} />;
  return (
    <Async query={own} label="Loading capture">
      {({ processes }) => <Parts incident={incident} capture={capture} first={processes.length === 0 ? NODE : SUBJECT} />}
    </Async>
  );
}

function Parts({ incident, capture, first }: CaptureProps & { first: CapturePart }): ReactElement {
  const [part, setPart] = useState(first);
  const detail = useQuery(captureQuery(incident.id, capture.id, part));
  return (
    <Async query={detail} label="Loading capture">
      {(shown) => <Loaded incident={incident} shown={shown} part={part} onPart={setPart} />}
    </Async>
  );
}

interface LoadedProps {
  incident: Incident;
  shown: CaptureDetail;
  part: CapturePart;
  onPart: (part: CapturePart) => void;
}

function Loaded({ incident, shown, part, onPart }: LoadedProps): ReactElement {
  const { capture, flame } = shown;
  const ofNode = incident.subject.kind === "node";
  const only = part.pid === null ? undefined : shown.processes.find((one) => one.pid === part.pid);
  return (
    <div className={styles["capture"]}>
      <p className={styles["dim"]}>
        {captureTitle(capture)}. {sampled(capture)}
      </p>
      <SecondStrip seconds={shown.seconds} rateHz={capture.rate_hz} time={part.time} onTime={(time) => onPart({ ...part, time })} />
      <div className={styles["choice"]}>
        {!ofNode && (
          <Choice
            label="Stacks of"
            options={[
              ["subject", incident.subject.name],
              ["node", "Whole node"],
            ]}
            value={part.pid === null ? part.scope : null}
            onChange={(scope) => onPart({ ...part, scope, pid: null })}
          />
        )}
        {part.pid !== null && (
          <Button kind="quiet" onClick={() => onPart({ ...part, pid: null })}>
            Only {only?.command ?? "process"} {part.pid}: show all
          </Button>
        )}
        {part.time !== null && (
          <Button kind="quiet" onClick={() => onPart({ ...part, time: null })}>
            {duration(part.time.toUs - part.time.fromUs)} selected: show all
          </Button>
        )}
      </div>
      {flame.total_samples === 0 ? (
        capture.samples > 0 && <p className={styles["dim"]}>No samples in this selection: it used no CPU time.</p>
      ) : (
        <Suspense>
          <FlameGraph
            key={`${shown.scope} ${shown.pid ?? ""} ${shown.from_us} ${shown.to_us}`}
            data={flame}
            msPerSample={capture.rate_hz > 0 ? 1000 / capture.rate_hz : 0}
            label="Flame graph of the capture"
          />
        </Suspense>
      )}
      {flame.hidden_samples > 0 && <p className={styles["dim"]}>In {plural(flame.hidden_samples, "sample")} the top of the stack is too rare to draw.</p>}
      {shown.waiting.length > 0 && (
        <>
          <h3 className={styles["heading"]}>Waiting threads</h3>
          <p className={styles["dim"]}>Read every 50 ms while a server owed answers and gave none, up to 32 threads at a time.</p>
          <WaitingTable waiting={shown.waiting} more={shown.more_waiting} marksSubject={!ofNode && shown.scope === "node"} />
        </>
      )}
      <h3 className={styles["heading"]}>Processes</h3>
      <ProcessTable processes={shown.processes} more={shown.more_processes} marksSubject={!ofNode && shown.scope === "node"} onOnly={(pid) => onPart({ ...part, pid })} />
    </div>
  );
}

function sampled(capture: CaptureSummary): string {
  if (capture.samples === 0) return "Stacks are unavailable on this node. The process table shows what ran.";
  const lost = capture.lost_samples > 0 ? `, ${count(capture.lost_samples)} lost` : "";
  return `${plural(capture.samples, "sample")} from ${plural(capture.cpus, "CPU")} at ${count(capture.rate_hz)}/s each${lost}.`;
}
