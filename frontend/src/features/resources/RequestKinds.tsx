import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";

import { requestKindsQuery, type RequestKind } from "@/api/services";
import { count, microseconds, MISSING, percent, significant } from "@/lib/format";
import { Section } from "@/ui/Section";
import { Table, tableStyles } from "@/ui/Table";
import { Async } from "@/widgets/Async";

import styles from "./Resources.module.css";
import { errorsText, grpcText } from "./words";

const MOST_CODES = 3;

/** Plaintext requests to a TCP server by route, command, or statement. */
export function RequestKinds({ resourceId }: { resourceId: number }): ReactElement {
  const query = useQuery(requestKindsQuery(resourceId));
  return (
    <Section title="Requests by kind" note="Last 15 min, plaintext only: HTTP routes, gRPC methods, Redis commands, and PostgreSQL and MySQL statements.">
      <Async query={query} label="Loading requests by kind">
        {({ items, estimated }) =>
          items.length === 0 ? (
            <p className={styles["dim"]}>No requests recognized: the server uses TLS or another protocol, received no requests, or the collector does not read requests.</p>
          ) : (
            <>
              {estimated && <p className={styles["dim"]}>Estimates: the server gets so many requests that the collector looks into only a part of them.</p>}
              <KindTable items={items} />
            </>
          )
        }
      </Async>
    </Section>
  );
}

function KindTable({ items }: { items: readonly RequestKind[] }): ReactElement {
  return (
    <Table label="Requests by kind">
      <thead>
        <tr>
          <th scope="col">Kind</th>
          {["Rate", "Mean", "p50", "p99", "Slowest", "Over 20 ms", "Client errors", "Server errors"].map((title) => (
            <th key={title} scope="col" className={tableStyles["number"]}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {items.map((one) => (
          <tr key={one.kind ?? ""}>
            <th scope="row" className={styles["kind"]} title={`${count(one.requests)} requests`}>
              {one.kind ?? <span className={styles["dim"]}>other kinds</span>}
              {one.grpc_statuses.length > 0 && (
                <p className={styles["codes"]} title={grpcText(one.grpc_statuses)}>
                  {grpcText(one.grpc_statuses, MOST_CODES)}
                </p>
              )}
            </th>
            <td className={tableStyles["number"]}>{significant(one.requests_per_s)}/s</td>
            <td className={tableStyles["number"]}>{microseconds(one.mean_us)}</td>
            <td className={tableStyles["number"]}>{microseconds(one.p50_us)}</td>
            <td className={tableStyles["number"]}>{microseconds(one.p99_us)}</td>
            <td className={tableStyles["number"]}>{microseconds(one.max_us)}</td>
            <td className={tableStyles["number"]}>{percent(one.slow_ratio)}</td>
            <ErrorCell kind={one.kind} ratio={one.client_errors_ratio} />
            <ErrorCell kind={one.kind} ratio={one.server_errors_ratio} />
          </tr>
        ))}
      </tbody>
    </Table>
  );
}

function ErrorCell({ kind, ratio }: { kind: string | null; ratio: number | null }): ReactElement {
  const text = errorsText(kind, ratio);
  return (
    <td className={tableStyles["number"]} title={text === MISSING ? "Not measured: no status was seen" : undefined}>
      {text}
    </td>
  );
}
