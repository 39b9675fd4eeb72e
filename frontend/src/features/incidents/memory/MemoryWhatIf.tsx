import { useQuery } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";

import type { Incident } from "@/api/incidents";
import { explain } from "@/api/problem";
import { memoryWhatIfQuery, type MemoryChange, type MemoryPrediction, type MemoryWhatIf as Answer } from "@/api/whatifMemory";
import { bytes, count } from "@/lib/format";
import { stopsBetween } from "@/lib/stops";
import { parseUs, US_PER_S } from "@/lib/time";
import { Button } from "@/ui/Button";
import { Section } from "@/ui/Section";
import { ErrorState, Skeleton } from "@/ui/states";
import { IntervalBar } from "@/widgets/IntervalBar";
import { StopSlider } from "@/widgets/StopSlider";

import styles from "./MemoryWhatIf.module.css";
import { outcomeText, peakText } from "./outcome";

const LONGEST_US = 600 * US_PER_S;
const MIB = 2 ** 20;

/** The burst of an incident under a cap of concurrent queries and another memory limit. */
export function MemoryWhatIf({ incident }: { incident: Incident }): ReactElement {
  const [change, setChange] = useState<MemoryChange>({});
  const toUs = parseUs(incident.window_to);
  const window = { fromUs: Math.max(parseUs(incident.window_from), toUs - LONGEST_US), toUs };
  const { data, isError, error, refetch } = useQuery(memoryWhatIfQuery(incident.subject.resource_id, window, change));
  return (
    <Section
      title="What if"
      note="The same burst with at most so many queries at once, or with another memory limit: base memory, what each waiting query holds and the garbage beside it, as they were measured. Nothing is changed."
    >
      {data === undefined ? isError ? <ErrorState {...explain(error)} onRetry={() => void refetch()} /> : <Skeleton lines={4} height={40} label="Loading the prediction" /> : null}
      {data !== undefined && (data.burst === null ? <p className={styles["cannot"]}>{data.cannot_tell}</p> : <Tried answer={data} change={change} onChange={setChange} />)}
    </Section>
  );
}

interface TriedProps {
  answer: Answer;
  change: MemoryChange;
  onChange: (change: MemoryChange) => void;
}

function Tried({ answer, change, onChange }: TriedProps): ReactElement {
  const { burst, recommended_max_concurrent: cap, recommended_limit_bytes: limit } = answer;
  const wanted = cap === null ? [] : [cap];
  const most = Math.max(burst?.most_waiting ?? 0, burst?.ceiling ?? 0, 1000);
  const limits = limit === null ? [] : [Math.ceil(limit / MIB)];
  const now = (burst?.limit_bytes ?? 256 * MIB) / MIB;
  return (
    <>
      <div className={styles["presets"]} role="group" aria-label="Values to try">
        <Button aria-pressed={change.max_concurrent == null && change.limit_bytes == null} onClick={() => onChange({})}>
          As recorded
        </Button>
        {cap !== null && (
          <Button aria-pressed={change.max_concurrent === cap && change.limit_bytes == null} onClick={() => onChange({ max_concurrent: cap })}>
            max_concurrent {count(cap)}
          </Button>
        )}
        {limits.map((mib) => (
          <Button key={mib} aria-pressed={change.max_concurrent == null && change.limit_bytes === mib * MIB} onClick={() => onChange({ limit_bytes: mib * MIB })}>
            Limit {count(mib)} MiB
          </Button>
        ))}
      </div>
      <div className={styles["controls"]}>
        <StopSlider label="max_concurrent" off="no cap" stops={stopsBetween(50, 2 * most, wanted)} value={change.max_concurrent ?? null} onChange={(value) => onChange({ ...change, max_concurrent: value })} format={count} />
        <StopSlider
          label="Memory limit"
          off={`as it is, ${bytes(now * MIB)}`}
          stops={stopsBetween(Math.max(16, now / 4), Math.max(8 * now, 2 * (limits[0] ?? 0)), limits)}
          value={change.limit_bytes == null ? null : change.limit_bytes / MIB}
          onChange={(value) => onChange({ ...change, limit_bytes: value === null ? null : Math.round(value) * MIB })}
          format={(value) => `${count(Math.round(value))} MiB`}
        />
      </div>
      <Results predictions={answer.predictions} />
    </>
  );
}

const ROWS = ["As recorded", "Tried"] as const;

function Results({ predictions }: { predictions: readonly MemoryPrediction[] }): ReactElement {
  const highest = Math.max(1, ...predictions.map(({ peak_bytes: peak, limit_bytes: limit }) => Math.max(peak?.high ?? 0, limit ?? 0)));
  return (
    <table className={styles["results"]} aria-label="The burst as recorded and as tried">
      <thead>
        <tr>
          <th scope="col">Setting</th>
          <th scope="col">The server</th>
          <th scope="col">Memory at most</th>
          <th scope="col">Limit</th>
          <td className={styles["bar"]} />
        </tr>
      </thead>
      <tbody>
        {predictions.map((prediction, index) => (
          <tr key={ROWS[index]} data-outcome={prediction.outcome}>
            <th scope="row">{ROWS[index]}</th>
            <td>
              <strong>{outcomeText(prediction)}</strong>
            </td>
            <td>{peakText(prediction)}</td>
            <td>{prediction.limit_bytes === null ? "none" : bytes(prediction.limit_bytes)}</td>
            <td className={styles["bar"]}>
              {prediction.peak_bytes !== null && prediction.limit_bytes !== null && (
                <IntervalBar interval={prediction.peak_bytes} now={prediction.limit_bytes} max={highest * 1.04} good={prediction.outcome === "survives"} format={bytes} nowLabel="limit" />
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
