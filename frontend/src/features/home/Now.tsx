import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";

import { fleetQuery } from "@/api/fleet";
import { overviewQuery, type Overview } from "@/api/overview";
import { explain } from "@/api/problem";
import type { Collectors } from "@/api/resources";
import { count, measure } from "@/lib/format";
import { ErrorState, Skeleton } from "@/ui/states";
import { Time } from "@/ui/Time";
import { MutedBy } from "@/widgets/mutes/MutedBy";
import { SeverityChip, stateText } from "@/widgets/Severity";
import { SubjectName } from "@/widgets/SubjectName";

import styles from "./Home.module.css";
import { Watching } from "./Watching";
import { coverageText, notKnownText, openCount, openText, silenceText } from "./words";

type Incident = Overview["worst"][number];

/** The headline: number of incidents by severity, the worst by name, and how much of the fleet is covered. */
export function Now({ collectors }: { collectors: Pick<Collectors, "found" | "silent"> | undefined }): ReactElement {
  const { data: overview, isError, error, refetch } = useQuery(overviewQuery());
  const fleet = useQuery(fleetQuery());
  if (overview === undefined) {
    return isError ? <ErrorState heading="h1" {...explain(error)} onRetry={() => void refetch()} /> : <Skeleton lines={3} height={36} label="Loading incidents" />;
  }
  const [first, ...others] = overview.worst;
  const more = openCount(overview) - overview.worst.length;
  const silence = silenceText(collectors ?? { found: 0, silent: 0 });
  const notKnown = notKnownText(overview);
  return (
    <header className={styles["now"]}>
      <h1>
        {first === undefined ? (
          "No open incidents"
        ) : (
          <>
            {openText(overview)}: <IncidentLink incident={first} /> on {first.subject.node}
          </>
        )}
      </h1>
      {first !== undefined && <About incident={first} />}
      {collectors === undefined || fleet.isPending ? (
        <Skeleton lines={first === undefined ? 2 : 1} height={17} label="Loading coverage" />
      ) : (
        <>
          {first === undefined && silence === "" && fleet.data !== undefined && <Watching fleet={fleet.data} />}
          <p className={styles["coverage"]}>
            {silence !== "" && <strong>{silence} </strong>}
            {notKnown !== "" && <strong>{notKnown} </strong>}
            {fleet.data === undefined ? "The number of containers with timed answers is unknown." : coverageText(fleet.data)}
            {overview.muted > 0 && ` ${count(overview.muted)} of the incidents ${overview.muted === 1 ? "is" : "are"} muted.`}
          </p>
        </>
      )}
      {others.length > 0 && (
        <ul className={styles["worst"]} aria-label="Also open">
          {others.map((incident) => (
            <IncidentLine key={incident.id} incident={incident} />
          ))}
        </ul>
      )}
      {more > 0 && (
        <p className={styles["more"]}>
          <Link to="/incidents">{count(more)} more open incidents</Link>
        </p>
      )}
    </header>
  );
}

function IncidentLink({ incident }: { incident: Incident }): ReactElement {
  return (
    <Link to="/incidents/$incidentId" params={{ incidentId: incident.id }}>
      {incident.title}
    </Link>
  );
}

function IncidentLine({ incident }: { incident: Incident }): ReactElement {
  return (
    <li>
      <div>
        <SeverityChip severity={incident.severity} />
      </div>
      <div>
        <IncidentLink incident={incident} />
        <About incident={incident} />
      </div>
    </li>
  );
}

/** Subject, harm, start, and what was done about it. */
function About({ incident }: { incident: Incident }): ReactElement {
  const figures = incident.figures.filter(({ short }) => short !== "").slice(0, 2);
  return (
    <p className={styles["sub"]}>
      <SubjectName subject={incident.subject} />
      <span>{incident.subject.node}</span>
      {figures.map(({ id, value, unit, short }) => (
        <span key={id}>{unit === "ratio" ? `${measure(value, unit)} ${short}` : `${short} ${measure(value, unit)}`}</span>
      ))}
      <span>
        since <Time at={incident.onset_at} style="clock" />
      </span>
      {incident.state !== "open" && <span>{stateText(incident.state)}</span>}
      <MutedBy incident={incident} />
    </p>
  );
}
