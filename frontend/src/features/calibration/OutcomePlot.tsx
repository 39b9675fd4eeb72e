import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";

import type { PredictionOutcome } from "@/api/verification";
import { measure, measureRange, percent } from "@/lib/format";
import { inSentence } from "@/lib/text";
import { Time } from "@/ui/Time";

import styles from "./OutcomePlot.module.css";
import { fixName, scaled } from "./words";

/** Beyond four times the value before the fix, marks are at the edge; the figures show the values. */
const FARTHEST = 4;

/** One row per outcome: the interval as a bar, the prediction as a tick, the measured value as a dot. */
export function OutcomePlot({ outcomes }: { outcomes: readonly PredictionOutcome[] }): ReactElement {
  const rows = outcomes.map((outcome) => ({ outcome, at: scaled(outcome) }));
  const max = Math.min(FARTHEST, Math.max(1, ...rows.map(({ at }) => Math.max(at.high, at.measured)))) * 1.03;
  const left = (ratio: number): string => `${Math.min(100, (ratio / max) * 100)}%`;
  const marks = [0, 0.5, 1, 2, 3, 4].filter((mark) => mark <= max);
  return (
    <div className={styles["plot"]}>
      <ul className={styles["legend"]} aria-label="Legend">
        <li>
          <i className={styles["range"]} /> 90 % interval
        </li>
        <li>
          <i className={styles["expected"]} /> predicted
        </li>
        <li>
          <i className={styles["inside"]} /> measured, inside
        </li>
        <li>
          <i className={styles["outside"]} /> measured, outside
        </li>
      </ul>
      <div className={styles["axis"]} aria-hidden="true">
        <span />
        <div>
          {marks.map((mark) => (
            <span key={mark} style={{ left: left(mark) }}>
              {mark * 100} %
            </span>
          ))}
        </div>
      </div>
      <ul aria-label="Predictions and outcomes">
        {rows.map(({ outcome, at }) => {
          const { unit, title, predicted } = outcome;
          const told = `predicted ${measure(predicted.expected, unit)} (${measureRange(predicted.low, predicted.high, unit)}), measured ${measure(outcome.measured, unit)}`;
          return (
            <li key={outcome.id} className={styles["row"]}>
              <div className={styles["what"]}>
                <Link to="/incidents/$incidentId" params={{ incidentId: outcome.incident_id }}>
                  {fixName(outcome.fix_id)}: {inSentence(title)}
                </Link>
                <span>
                  {outcome.subject_name} · <Time at={outcome.at} />
                </span>
              </div>
              <div className={styles["line"]} role="img" aria-label={`${told}, ${outcome.inside ? "inside" : "outside"}; before ${measure(outcome.before, unit)}`} title={told}>
                {marks.map((mark) => (
                  <i key={mark} className={styles["grid"]} style={{ left: left(mark) }} />
                ))}
                <i className={styles["range"]} style={{ left: left(at.low), width: `max(3px, calc(${left(at.high)} - ${left(at.low)}))` }} />
                <i className={styles["expected"]} style={{ left: left(at.expected) }} />
                <i className={styles[outcome.inside ? "inside" : "outside"]} style={{ left: left(at.measured) }} />
              </div>
              <p className={styles["numbers"]}>
                <strong>{measure(outcome.measured, unit)}</strong> {outcome.inside ? "inside" : "outside"} {measureRange(predicted.low, predicted.high, unit)}
                <span>off by {percent(outcome.error_ratio)}</span>
              </p>
            </li>
          );
        })}
      </ul>
    </div>
  );
}
