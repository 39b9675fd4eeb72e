import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, type ReactElement } from "react";

import { fleetQuery, type Fleet } from "@/api/fleet";
import { count } from "@/lib/format";
import { Choice } from "@/ui/Choice";
import { Section } from "@/ui/Section";
import { Async } from "@/widgets/Async";

import { groupsOf, LEVELS, levelOf, type Level } from "./cells";
import { Cells } from "./Cells";
import styles from "./FleetMap.module.css";
import { throttledText } from "./words";

const BY = [
  ["node", "By node"],
  ["namespace", "By namespace"],
] as const;

export interface FleetMapProps {
  by: "node" | "namespace";
  onBy: (by: "node" | "namespace") => void;
}

/** One cell per container, colored by its worst 100 ms of the last hour; each links to that tick. */
export function FleetMap({ by, onBy }: FleetMapProps): ReactElement {
  const fleet = useQuery(fleetQuery());
  return (
    <Section
      title="Fleet"
      note={fleet.data === undefined || fleet.data.compared === 0 ? "One cell per container, by its worst 100 ms of the last hour." : throttledText(fleet.data)}
      aside={<Choice label="Group containers" options={BY} value={by} onChange={onBy} />}
    >
      <Async query={fleet} label="Loading containers">
        {(data) => <Loaded fleet={data} by={by} />}
      </Async>
    </Section>
  );
}

function Loaded({ fleet, by }: { fleet: Fleet; by: "node" | "namespace" }): ReactElement {
  const groups = useMemo(() => groupsOf(fleet.containers, by), [fleet.containers, by]);
  const more = fleet.found - fleet.containers.length;
  if (fleet.containers.length === 0) {
    return (
      <p className={styles["none"]}>
        No containers were seen in the last 5 min. <Link to="/settings/collectors">Go to collectors</Link>, or find those that are gone in <Link to="/resources" search={{ all: true }}>Explore</Link>.
      </p>
    );
  }
  return (
    <>
      <Cells groups={groups} />
      <div className={styles["foot"]}>
        <Legend fleet={fleet} />
        <p>
          <Link to="/resources">{more > 0 ? `And ${count(more)} more in Explore` : "Show as a table"}</Link>
        </p>
      </div>
    </>
  );
}

/** The meaning of each color and mark, and how many cells have it. */
function Legend({ fleet }: { fleet: Fleet }): ReactElement {
  const counts = useMemo(() => {
    const found = new Map<Level, number>();
    for (const one of fleet.containers) found.set(levelOf(one), (found.get(levelOf(one)) ?? 0) + 1);
    return found;
  }, [fleet.containers]);
  return (
    <ul className={styles["legend"]} aria-label="Legend: worst 100 ms of the last hour">
      {LEVELS.map(({ id, mark, text }) => (
        <li key={id}>
          <i className={styles["swatch"]} data-level={id} aria-hidden="true">
            {mark}
          </i>
          {text}: {count(counts.get(id) ?? 0)}
        </li>
      ))}
    </ul>
  );
}
