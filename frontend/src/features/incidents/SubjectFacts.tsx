import { useQueries, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { memo, type ReactElement } from "react";

import { resourceFactsQuery, type ResourceDetail } from "@/api/resources";
import { count } from "@/lib/format";
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
  const servers = useChildren(processes.shown, ["dns_server"]);
  return (
    <Async query={subject} label="Loading facts">
      {(resource) => (
        <>
          <div className={styles["columns"]}>
            {[resource, ...processes.shown, ...servers.shown].map((one) => (
              <FactTable key={one.id} facts={one.facts} caption={`${KINDS[one.kind] ?? one.kind}: ${one.name}`} />
            ))}
          </div>
          {processes.hidden + servers.hidden > 0 && (
            <p className={styles["more"]}>
              {count(processes.hidden + servers.hidden)} more of its processes and servers are listed on{" "}
              <Link to="/resources/$resourceId" params={{ resourceId: resource.id }}>
                the page of {resource.name}
              </Link>
              .
            </p>
          )}
        </>
      )}
    </Async>
  );
});

function useChildren(parents: readonly ResourceDetail[], kinds: readonly ResourceDetail["kind"][]): { shown: ResourceDetail[]; hidden: number } {
  const ids = parents.flatMap((parent) => parent.children.filter((child) => kinds.includes(child.kind)).map((child) => child.id));
  const results = useQueries({ queries: ids.slice(0, MOST).map((id) => resourceFactsQuery(id)) });
  return { shown: results.map((result) => result.data).filter((data) => data !== undefined), hidden: Math.max(0, ids.length - MOST) };
}
