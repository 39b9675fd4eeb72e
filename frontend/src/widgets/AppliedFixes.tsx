import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";

import type { AppliedFix } from "@/api/overview";
import { measure } from "@/lib/format";
import { Time } from "@/ui/Time";

import styles from "./AppliedFixes.module.css";

const STATES: Record<AppliedFix["state"], string> = {
  waiting: "◔ measuring",
  verified: "✓ verified",
  did_not_help: "✕ did not help",
  made_worse: "▲ made it worse",
  replaced: "– no verdict",
};

/** Applied changes, each with its deciding figure before and after. */
export function AppliedFixes({ fixes }: { fixes: readonly AppliedFix[] }): ReactElement {
  return (
    <ul className={styles["fixes"]}>
      {fixes.map((fix) => (
        <li key={fix.id} data-state={fix.state}>
          <div>
            <Link to="/incidents/$incidentId" params={{ incidentId: fix.incident_id }} className={styles["title"]}>
              {fix.fix_title}
            </Link>
            <p className={styles["sub"]}>
              <span>{fix.subject_name}</span>
              <span>{fix.cause_title}</span>
              <span className={styles["state"]}>{STATES[fix.state]}</span>
              <Time at={fix.finished_at ?? fix.applied_at} />
            </p>
          </div>
          {fix.measure !== null && (
            <p className={styles["gain"]}>
              {measure(fix.measure.before, fix.measure.unit)} → <strong>{measure(fix.measure.after, fix.measure.unit)}</strong>
              <small>
                {fix.measure.title}
                {fix.state === "waiting" && ", so far"}
              </small>
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}
