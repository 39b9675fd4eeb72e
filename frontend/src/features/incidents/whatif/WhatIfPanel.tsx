import { useQuery } from "@tanstack/react-query";
import { useMemo, type ReactElement } from "react";

import type { Schemas } from "@/api/client";
import { explain } from "@/api/problem";
import { whatIfQuery, type SettingChange, type WhatIf, type WhatIfWindow } from "@/api/whatif";
import { Compare } from "@/charts/compare/Compare";
import { microseconds } from "@/lib/format";
import type { TimeView } from "@/lib/timeView";
import { useRested } from "@/lib/useRested";
import { ErrorState, Skeleton } from "@/ui/states";

import { comparedFigures, reasonText, sentence, type ComparedFigure } from "./figures";
import { Presets } from "./Presets";
import { ResultTable } from "./ResultTable";
import { runsOf } from "./runs";
import { SearchGoals } from "./SearchGoals";
import { applied, difference, GO_ONLY, PARAMETERS } from "./setting";
import { SettingControl } from "./SettingControl";
import styles from "./WhatIf.module.css";

/** A request starts this long after a slider's last step; an earlier request is aborted. */
const REST_MS = 70;

export interface WhatIfPanelProps {
  of: WhatIfWindow;
  fixes: readonly Schemas["Fix"][];
  change: SettingChange;
  onChange: (change: SettingChange) => void;
  /** Shared with the page's timeline. */
  extent: TimeView;
  view: TimeView;
  onView: (view: TimeView) => void;
}

/** Any setting, replayed on the recorded window: the predicted outcome next to the recorded one. */
export function WhatIfPanel({ of, fixes, change, onChange, extent, view, onView }: WhatIfPanelProps): ReactElement {
  const asked = useRested(change, REST_MS);
  const { data, isError, error, refetch, isFetching, isPlaceholderData } = useQuery(whatIfQuery(of, asked));
  if (data === undefined) {
    return isError ? <ErrorState {...explain(error)} onRetry={() => void refetch()} /> : <Skeleton lines={6} height={56} label="Loading replay" />;
  }
  if (data.cannot_tell !== null) return <p className={styles["cannot"]}>{data.cannot_tell}</p>;
  const stale = isFetching || isPlaceholderData || asked !== change;
  return (
    <div className={styles["panel"]}>
      <Brief answer={data} />
      <Settings answer={data} fixes={fixes} change={change} onChange={onChange} of={of} />
      <div className={styles["outcome"]}>
        {isError && <ErrorState {...explain(error)} onRetry={() => void refetch()} />}
        <Outcome answer={data} stale={stale} extent={extent} view={view} onView={onView} />
      </div>
    </div>
  );
}

/** On a phone, the table is out of view while a slider moves, so its main figures stay on top. Screen readers use the table. */
function Brief({ answer }: { answer: WhatIf }): ReactElement {
  const figures = comparedFigures(answer.recorded.figures, answer.predictions[0] ?? null).filter(({ name }) => name in BRIEF);
  return (
    <dl className={styles["brief"]} aria-hidden="true">
      {figures.map(({ name, predicted, recorded, format }) => (
        <div key={name}>
          <dt>{BRIEF[name]}</dt>
          <dd>{predicted === null ? "no prediction" : format(predicted.expected)}</dd>
          <dd>was {format(recorded)}</dd>
        </div>
      ))}
    </dl>
  );
}

const BRIEF: Partial<Record<ComparedFigure["name"], string>> = { throttled_ms_per_min: "Throttled", slow_ratio: "Slow", p99_ms: "p99" };

type SettingsProps = Pick<WhatIfPanelProps, "fixes" | "change" | "onChange" | "of"> & { answer: WhatIf };

function Settings({ answer, fixes, change, onChange, of }: SettingsProps): ReactElement {
  const { setting: recorded } = answer.recorded;
  const setting = applied(recorded, change);
  // If the node's CPU count is unknown, sliders cover the recorded usage.
  const nodeCpus = answer.node_cpus ?? Math.max(recorded.gomaxprocs ?? 1, 2 * (recorded.cpu_limit ?? 1));
  const controls = PARAMETERS.filter((name) => recorded.gomaxprocs !== null || !GO_ONLY.has(name));
  return (
    <div className={styles["settings"]}>
      <div className={styles["presets"]} role="group" aria-label="Values to try">
        <Presets fixes={fixes} recorded={recorded} change={difference(recorded, setting)} onChange={onChange} />
      </div>
      <div className={styles["controls"]} role="group" aria-label="Setting to try">
        {controls.map((name) => (
          <SettingControl
            key={name}
            name={name}
            recorded={recorded}
            setting={setting}
            nodeCpus={nodeCpus}
            onChange={(value) => onChange(difference(recorded, applied(recorded, { ...difference(recorded, setting), [name]: value })))}
          />
        ))}
        {recorded.gomaxprocs === null && <p className={styles["note"]}>No Go program detected, so GOMAXPROCS, GOGC and GOMEMLIMIT cannot be tried.</p>}
      </div>
      <SearchGoals of={of} onTry={onChange} />
    </div>
  );
}

type OutcomeProps = Pick<WhatIfPanelProps, "extent" | "view" | "onView"> & { answer: WhatIf; stale: boolean };

function Outcome({ answer, stale, extent, view, onView }: OutcomeProps): ReactElement {
  const prediction = answer.predictions[0] ?? null;
  const figures = useMemo(() => comparedFigures(answer.recorded.figures, prediction), [answer, prediction]);
  const runs = useMemo(() => runsOf(answer, extent), [answer, extent]);
  const said = prediction === null ? "" : sentence(difference(answer.recorded.setting, prediction.setting), figures, prediction);
  const notes = [...new Set([...(prediction?.notes ?? []), ...answer.notes])];
  return (
    <>
      {/* While the hand moves nothing is said; the result that stays is. */}
      <p className="visually-hidden" role="status">
        {stale ? "" : said}
      </p>
      <div className={styles["stale"]} data-stale={stale}>
        {prediction?.cannot_tell != null && (
          <p className={styles["cannot"]}>
            <strong>No prediction:</strong> {reasonText(prediction.cannot_tell)}
          </p>
        )}
        <ResultTable figures={figures} />
        {notes.length > 0 && (
          <ul className={styles["notes"]} aria-label="Notes on the prediction">
            {notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        )}
      </div>
      {runs.length > 0 && (
        <div className={styles["picture"]}>
          <Compare runs={runs} extent={extent} view={view} onView={onView} stale={stale} />
          <p className={styles["note"]}>
            Bars: CPU usage per tick. Marks: slowest answer per tick, a diamond above {microseconds(answer.slow_threshold_us)}. Zooms and pans with the timeline at the top.
          </p>
        </div>
      )}
    </>
  );
}
