import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";

import type { ResourceDetail } from "@/api/resources";
import { bytes, cpus, percent, significant } from "@/lib/format";
import { sentence } from "@/lib/text";
import { Chip } from "@/ui/Chip";
import { Time } from "@/ui/Time";

import styles from "./Resources.module.css";

export function ResourceHeader({ resource }: { resource: ResourceDetail }): ReactElement {
  const { usage } = resource;
  return (
    <header>
      <nav aria-label="Breadcrumbs">
        <ol className={styles["path"]}>
          {resource.ancestors.toReversed().map((one) => (
            <li key={one.id}>
              <Link to="/resources/$resourceId" params={{ resourceId: one.id }}>
                {one.name}
              </Link>
            </li>
          ))}
        </ol>
      </nav>
      <h1>{resource.name}</h1>
      <div className={styles["chips"]}>
        <Chip tone="dim">{sentence(resource.kind)}</Chip>
        {resource.name !== resource.key && <Chip tone="dim">{resource.key}</Chip>}
        {resource.throttled && <Chip tone="hot">▲ throttled in the last 15 minutes</Chip>}
        {usage.cpu_used !== null && (
          <Chip>
            {cpus(usage.cpu_used)} mean, {cpus(usage.cpu_peak)} peak
          </Chip>
        )}
        {resource.kind === "cgroup" && <Chip>{resource.cpu_limit === null ? "no CPU limit" : `limit ${cpus(resource.cpu_limit)}`}</Chip>}
        {usage.throttled_ratio !== null && usage.throttled_ratio > 0 && <Chip tone="hot">{percent(usage.throttled_ratio)} of periods throttled</Chip>}
        {usage.memory_bytes !== null && (
          <Chip>
            {bytes(usage.memory_bytes)}
            {resource.memory_limit_bytes !== null && ` of ${bytes(resource.memory_limit_bytes)}`}
          </Chip>
        )}
        {usage.queries_per_second !== null && <Chip>{significant(usage.queries_per_second)} queries/s</Chip>}
        {usage.requests_per_second !== null && <Chip>{significant(usage.requests_per_second)} requests/s</Chip>}
        {!resource.active && (
          <Chip tone="dim">
            last seen <Time at={resource.last_seen_at} />
          </Chip>
        )}
      </div>
    </header>
  );
}
