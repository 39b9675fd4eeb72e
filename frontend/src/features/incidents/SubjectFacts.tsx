import { useQueries, useQuery } from "@tanstack/react-query";
import { memo, type ReactElement } from "react";

import { resourceFactsQuery, type ResourceDetail } from "@/api/resources";
import { Async } from "@/widgets/Async";
import { FactTable } from "@/widgets/FactTable";

import styles from "./SubjectFacts.module.css";

/** More than a few processes would hide what matters. */
const MOST = 4;

const KINDS: Partial<Record<ResourceDetail["kind"], string>> = { node: "Node", cgroup: "Container", process: "Process", dns_server: "DNS server", tcp_server: "TCP server" };

/** Facts of the subject, its processes, and its servers. */
export const SubjectFacts = memo(function SubjectFacts({ resourceId }: { resourceId: number }): ReactElement {
  const subject = useQuery(resourceFactsQuery(resourceId));
  const processes = useChildren(subject.data === undefined ? [] : [subject.data], ["process", "dns_server", "tcp_server"]);
  const servers = useChildren(processes, ["dns_server"]);
  return (
    <Async query={subject} label="Loading facts">
      {(resource) => (
        <div className={styles["columns"]}>
          {[resource, ...processes, ...servers].map((one) => (
            <FactTable key={one.id} facts={one.facts} caption={`${KINDS[one.kind] ?? one.kind}: ${one.name}`} />
          ))}
        </div>
      )}
    </Async>
  );
});

function useChildren(parents: readonly ResourceDetail[], kinds: readonly ResourceDetail["kind"][]): ResourceDetail[] {
  const ids = parents.flatMap((parent) => parent.children.filter((child) => kinds.includes(child.kind)).map((child) => child.id)).slice(0, MOST);
  const results = useQueries({ queries: ids.map((id) => resourceFactsQuery(id)) });
  return results.map((result) => result.data).filter((data) => data !== undefined);
}
