import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";

import { serviceMapQuery } from "@/api/services";
import { Choice } from "@/ui/Choice";
import { Section } from "@/ui/Section";
import { Async } from "@/widgets/Async";
import { CallMap } from "@/widgets/callmap/CallMap";
import type { LinkWindow } from "@/widgets/callmap/PlaceLink";

import styles from "./Resources.module.css";

const HOPS = [
  [1, "1 hop"],
  [2, "2 hops"],
] as const;

export interface NeighborhoodProps {
  resourceId: number;
  window: LinkWindow;
  hops: 1 | 2;
  onHops: (hops: 1 | 2) => void;
}

/** The callers of a server or container on the left, and what it calls on the right. */
export function Neighborhood({ resourceId, window, hops, onHops }: NeighborhoodProps): ReactElement {
  const map = useQuery(serviceMapQuery({ ...window, resource: resourceId, hops }));
  return (
    <Section title="Callers and calls" note="Callers on the left, what it calls on the right, with the time of each hop. Replicas of a workload are one place." aside={<Choice label="Distance" options={HOPS} value={hops} onChange={onHops} />}>
      <Async query={map} label="Loading callers and calls">
        {(data) => (data.calls.length === 0 ? <p className={styles["dim"]}>No calls recorded in this window. TCP calls are timed in containers that run a server; DNS queries at the server.</p> : <CallMap map={data} window={window} />)}
      </Async>
    </Section>
  );
}
