import { memo, type ReactElement } from "react";

import type { ShownVerification } from "@/api/incidents";
import { Section } from "@/ui/Section";
import { Time } from "@/ui/Time";

import { BeforeAfter } from "./BeforeAfter";
import { progressOf, type Progress } from "./blocks";
import { MeasureTable } from "./MeasureTable";
import styles from "./VerificationSection.module.css";

const TITLES: Record<ShownVerification["state"], string> = {
  waiting: "◔ Measuring whether it helped",
  verified: "✓ The fix is verified",
  did_not_help: "✕ The fix did not help",
  made_worse: "▲ The fix made it worse",
  replaced: "– No verdict",
};

/** The effect of a fix: the verdict, before, after, and prediction in one chart, and the test. */
export const VerificationSection = memo(function VerificationSection({ verification }: { verification: ShownVerification }): ReactElement {
  const { state } = verification;
  return (
    <Section
      title="Did it help?"
      note={
        <>
          {verification.fix_title}, {verification.started_by === "jitterscope" ? "detected by Jitterscope" : `marked by ${verification.started_by}`} <Time at={verification.applied_at} />.
          Measured on {verification.subject_name}.
        </>
      }
    >
      <div className={styles["verdict"]} data-state={state} role="status">
        <h3>{TITLES[state]}</h3>
        {verification.verdict !== null && <p>{verification.verdict}</p>}
        {verification.waiting_for !== null && <Waiting text={verification.waiting_for} progress={progressOf(verification)} />}
      </div>
      {verification.changes.length > 0 && (
        <ul className={styles["changes"]} aria-label="What changed">
          {verification.changes.map((step) => (
            <li key={step.name}>
              {step.title}
              {(step.old !== null || step.new !== null) && (
                <>
                  {" "}
                  <code>{step.old ?? "not set"}</code> → <code>{step.new ?? "not set"}</code>
                </>
              )}
            </li>
          ))}
        </ul>
      )}
      <BeforeAfter verification={verification} />
      {verification.measures.length > 0 && (
        <div className={styles["measures"]}>
          <MeasureTable measures={verification.measures} />
        </div>
      )}
      {verification.notes.map((note) => (
        <p key={note} className={styles["note"]}>
          {note}
        </p>
      ))}
    </Section>
  );
});

function Waiting({ text, progress }: { text: string; progress: Progress | null }): ReactElement {
  return (
    <>
      {progress !== null && (
        <p className={styles["waiting"]}>
          <progress value={progress.doneS} max={progress.ofS} aria-label="Measured so far" />
          <span>{progress.text}</span>
        </p>
      )}
      <p>Waiting for: {text}</p>
    </>
  );
}
