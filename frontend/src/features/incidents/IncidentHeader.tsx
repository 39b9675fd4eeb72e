import type { ReactElement, ReactNode } from "react";

import type { Incident } from "@/api/incidents";
import { count, plural } from "@/lib/format";
import { duration, parseUs } from "@/lib/time";
import { Chip } from "@/ui/Chip";
import { useNowUs } from "@/ui/Time";
import { Figures } from "@/widgets/Figures";
import { mutedText } from "@/widgets/mutes/mutedText";
import { Prose } from "@/widgets/Prose";
import { SeverityChip, StateChip } from "@/widgets/Severity";
import { SubjectName } from "@/widgets/SubjectName";

import { Confidence } from "./Confidence";
import styles from "./IncidentHeader.module.css";
import { MutedLine } from "./MutedLine";

/** Verdict first: subject, effect, cause, and harm. */
export function IncidentHeader({ incident, actions }: { incident: Incident; actions: ReactNode }): ReactElement {
  const now = useNowUs();
  const startUs = parseUs(incident.onset_at);
  const endUs = incident.resolved_at === null ? now : parseUs(incident.resolved_at);
  return (
    <header className={styles["header"]}>
      <div className={styles["chips"]}>
        <SeverityChip severity={incident.severity} />
        <StateChip state={incident.state} />
        {incident.muted && <Chip tone="dim">{mutedText(incident, now, false)}</Chip>}
        <Chip tone="dim" leastCh={12} title={`First seen ${incident.onset_at}, opened ${incident.opened_at}`}>
          for {duration(Math.max(0, endUs - startUs))}
        </Chip>
        {incident.occurrences > 1 && (
          <Chip tone="dim" title="Diagnoses that found this cause">
            diagnosed {plural(incident.occurrences, "time")}
          </Chip>
        )}
        <Confidence incident={incident} />
        <Chip>
          <SubjectName subject={incident.subject} />
        </Chip>
        {incident.subject.kind !== "node" && <Chip tone="dim">{incident.subject.node}</Chip>}
        {incident.also_affected.length > 0 && <Chip title={incident.also_affected.map((member) => member.name).join(", ")}>and {count(incident.also_affected.length)} more affected</Chip>}
      </div>
      <div className={styles["actions"]}>{actions}</div>
      <h1 className={styles["verdict"]}>{incident.title}</h1>
      <MutedLine incident={incident} />
      <p className={styles["summary"]}>
        <Prose text={incident.summary} />
      </p>
      <div className={styles["figures"]}>
        <Figures figures={incident.figures} />
      </div>
    </header>
  );
}
