import { useId, type ReactElement } from "react";

import type { Incident } from "@/api/incidents";
import { Chip } from "@/ui/Chip";

import styles from "./Confidence.module.css";
import { confidenceReason } from "./confidenceReason";
import { jump } from "./jump";

/** How sure the diagnosis is, and why on hover and focus. Leads to the other causes and what the data says about each. */
export function Confidence({ incident }: { incident: Incident }): ReactElement {
  const id = useId();
  return (
    <span className={styles["confidence"]}>
      <a href="#other-causes" aria-describedby={id} onClick={jump}>
        <Chip tone="dim">{incident.confidence} confidence</Chip>
      </a>
      <span id={id} role="tooltip" className={styles["reason"]}>
        {confidenceReason(incident)}
      </span>
    </span>
  );
}
