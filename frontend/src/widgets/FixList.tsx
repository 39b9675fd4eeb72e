import { memo, useId, useState, type ReactElement } from "react";

import type { Schemas } from "@/api/client";
import { isInFiles, type KustomizePatch } from "@/api/pulls";
import { measureRange, percent } from "@/lib/format";
import { ActionButton } from "@/ui/ActionButton";
import { CopyButton } from "@/ui/CopyButton";

import { FixDetail } from "./FixDetail";
import styles from "./FixList.module.css";
import { IntervalBar } from "./IntervalBar";
import { predictionOf, reasonOf, scaleOf, VERDICTS } from "./fixScale";
import { Prose } from "./Prose";

export interface FixApplying {
  /** The fix whose effect is being measured. */
  readonly measured: string | null;
  /** A fix is being marked as applied. */
  readonly busy: boolean;
  /** Why the user cannot mark one as applied; null: allowed. */
  readonly refusal: string | null;
  readonly apply: (fix: Schemas["Fix"]) => void;
}

/** Pull request elements next to each fix and in its details. Only for fixes that fit in a file. */
export interface FixPulls {
  readonly button: (fix: Schemas["Fix"]) => ReactElement;
  readonly note: (fix: Schemas["Fix"]) => ReactElement;
}

export interface FixListProps {
  fixes: readonly Schemas["Fix"][];
  /** The displayed impact. */
  figures: readonly Schemas["ImpactFigure"][];
  /** How each fix is detected. */
  landings?: readonly Schemas["FixLanding"][];
  onCopied?: (fix: Schemas["Fix"]) => void;
  /** "I applied this fix"; if absent, there is no such button. */
  applying?: FixApplying;
  pulls?: FixPulls;
  /** Fixes that can also be Kustomize patches. */
  kustomize?: readonly KustomizePatch[] | undefined;
}

/** Fixes side by side: one scale, drawn intervals, the verdict in words, and the patch one key away. */
export const FixList = memo(function FixList({ fixes, figures, landings = [], onCopied, applying, pulls, kustomize = [] }: FixListProps): ReactElement {
  const [open, setOpen] = useState<string | null>(fixes[0]?.id ?? null);
  const id = useId();
  const scale = scaleOf(fixes, figures);
  return (
    <div className={styles["list"]}>
      {scale !== null && (
        <div className={styles["axis"]} aria-hidden="true">
          <span>0 %</span>
          <span className={styles["now"]} style={{ left: `${(scale.now / scale.max) * 100}%` }}>
            now {percent(scale.now)}
          </span>
        </div>
      )}
      <ol>
        {fixes.map((fix) => {
          const prediction = scale === null ? null : predictionOf(fix, scale.of);
          const verdict = VERDICTS[fix.verdict];
          const expanded = open === fix.id;
          const reasonId = `${id}-${fix.id}`;
          const pull = isInFiles(fix) ? pulls : undefined;
          return (
            <li key={fix.id} className={styles["fix"]} data-verdict={fix.verdict}>
              <div className={styles["row"]}>
                <div className={styles["what"]}>
                  <h3>
                    <button type="button" className={styles["toggle"]} aria-expanded={expanded} onClick={() => setOpen(expanded ? null : fix.id)}>
                      <span className={styles["arrow"]} aria-hidden="true">
                        {expanded ? "▾" : "▸"}
                      </span>
                      {fix.title}
                    </button>
                  </h3>
                  <p id={reasonId}>
                    <span className={styles["verdict"]} data-verdict={fix.verdict}>
                      <span aria-hidden="true">{verdict.mark}</span> {verdict.text}
                    </span>{" "}
                    <Prose text={reasonOf(fix)} />
                  </p>
                </div>
                <div className={styles["prediction"]}>
                  {prediction !== null && scale !== null ? (
                    <>
                      <IntervalBar interval={prediction} now={scale.now} max={scale.max} good={fix.verdict === "removes"} />
                      <p className={styles["numbers"]}>
                        <strong>{percent(prediction.expected)}</strong>{" "}
                        {prediction.low !== prediction.high && `(${measureRange(prediction.low, prediction.high, "ratio")})`}
                      </p>
                    </>
                  ) : (
                    <p className={styles["numbers"]}>no prediction</p>
                  )}
                </div>
                <div className={styles["copy"]}>
                  <CopyPatch fix={fix} reasonId={reasonId} onCopied={onCopied} />
                  {pull?.button(fix)}
                  {applying !== undefined && <Applied fix={fix} applying={applying} />}
                </div>
              </div>
              {expanded && <FixDetail fix={fix} landing={landings.find((one) => one.fix_id === fix.id)} pull={pull?.note(fix)} kustomize={kustomize.find((one) => one.fix_id === fix.id)?.files} />}
            </li>
          );
        })}
      </ol>
    </div>
  );
});

interface CopyPatchProps {
  fix: Schemas["Fix"];
  /** The element that says why a fix cannot help. */
  reasonId: string;
  onCopied: FixListProps["onCopied"];
}

/** A fix that cannot help can be copied, but is not offered like the others. */
function CopyPatch({ fix, reasonId, onCopied }: CopyPatchProps): ReactElement | null {
  const patch = fix.patches[0];
  if (patch === undefined) return null;
  const copied = (): void => onCopied?.(fix);
  if (fix.verdict === "cannot_help") {
    return <CopyButton kind="quiet" text={patch.text} label="Copy patch anyway" aria-label={`Copy patch anyway: ${fix.title}`} aria-describedby={reasonId} onCopied={copied} />;
  }
  return <CopyButton text={patch.text} label="Copy patch" aria-label={`Copy patch: ${fix.title}`} onCopied={copied} />;
}

function Applied({ fix, applying }: { fix: Schemas["Fix"]; applying: FixApplying }): ReactElement {
  if (applying.measured === fix.id) return <p className={styles["measuring"]}>◔ measuring</p>;
  return (
    <ActionButton kind="quiet" refusal={applying.refusal} aria-label={`I applied this fix: ${fix.title}`} disabled={applying.busy} onClick={() => applying.apply(fix)}>
      I applied this fix
    </ActionButton>
  );
}
