import type { ReactElement } from "react";

import type { PodStart } from "@/api/startup";

import { duration, percentileText, piecesOf, scaleEnd, stackSentence } from "./pieces";
import styles from "./Stacks.module.css";

/** p50, p90, and p99 of the starts, each split by phase, against the objective. */
export function Stacks({ page }: { page: Pick<PodStart, "stacks" | "parts" | "objective_us"> }): ReactElement {
  const end = scaleEnd(page);
  const at = (us: number): string => `${(us / end) * 100}%`;
  const first = page.stacks[0];
  const legend = first === undefined ? [] : piecesOf(first, page.parts);
  const waits = page.parts.some((part) => part.id === "verifier");
  return (
    <div className={styles["stacks"]}>
      {page.stacks.map((stack) => (
        <div key={stack.q} className={styles["stack"]} role="img" aria-label={stackSentence(stack, page.parts)}>
          <span className={styles["quantile"]}>{percentileText(stack.q)}</span>
          <span className={styles["track"]}>
            <span className={styles["pieces"]} style={{ width: at(stack.start_us) }}>
              {piecesOf(stack, page.parts).map((piece) => (
                <i key={piece.id} data-piece={piece.id} style={{ flexGrow: piece.us }} title={`${piece.title} ${duration(piece.us)}`}>
                  {piece.verifierUs > 0 && <b data-piece="verifier" style={{ width: `${(piece.verifierUs / piece.us) * 100}%` }} title={`Verifier ${duration(piece.verifierUs)}`} />}
                </i>
              ))}
            </span>
            <span className={styles["objective"]} style={{ left: at(page.objective_us) }} />
          </span>
          <span className={styles["total"]} data-hot={stack.start_us > page.objective_us}>
            {duration(stack.start_us)}
          </span>
        </div>
      ))}
      <ul className={styles["legend"]} aria-label="Legend">
        {legend.map((piece) => (
          <li key={piece.id}>
            <i data-piece={piece.id} />
            {piece.title}
          </li>
        ))}
        {waits && (
          <li>
            <i data-piece="verifier" />
            Verifier, in the sandbox
          </li>
        )}
        <li>
          <i data-piece="objective" />
          Objective, {page.objective_us / 1e6} s for 99 % of pods
        </li>
      </ul>
    </div>
  );
}
