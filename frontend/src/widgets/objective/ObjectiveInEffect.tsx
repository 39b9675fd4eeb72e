import type { ReactElement } from "react";

import type { Objective } from "@/api/objectives";
import { Time } from "@/ui/Time";

import styles from "./Objective.module.css";
import { limitOf, originOf, readable } from "./words";

/** The objective in effect, which decides which answers are slow, and its origin. */
export function ObjectiveInEffect({ objective }: { objective: Objective }): ReactElement {
  const { objective: text, origin, set_at, annotation, annotation_problem: problem } = objective;
  return (
    <div className={styles["told"]}>
      {text === null ? (
        <p>No objective set. An answer is slow if it takes over 20 ms and over three times the server&apos;s median.</p>
      ) : (
        <>
          <p className={styles["effect"]}>{readable(text)}</p>
          <p className={styles["dim"]}>
            {originOf(objective)}
            {set_at !== null && (
              <>
                {" "}
                <Time at={set_at} />
              </>
            )}
            . Answers over {limitOf(text)} are slow.
          </p>
        </>
      )}
      {problem !== null && <p className={styles["hot"]}>✕ The pod&apos;s annotation is not used. {problem}</p>}
      {problem === null && annotation !== null && origin !== "annotation" && (
        <p className={styles["dim"]}>The pod&apos;s annotation says {annotation}. The objective set here takes precedence.</p>
      )}
    </div>
  );
}
