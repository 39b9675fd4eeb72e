import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import clsx from "clsx";
import type { ReactElement } from "react";

import { explain } from "@/api/problem";
import { auditQuery } from "@/api/settings";
import { Button } from "@/ui/Button";
import { Section } from "@/ui/Section";
import { ErrorState, Skeleton } from "@/ui/states";
import { Table, tableStyles } from "@/ui/Table";
import { Time } from "@/ui/Time";

import { detailText, targetOf } from "./auditText";
import styles from "./Settings.module.css";

export function Audit(): ReactElement {
  const { data, isError, error, refetch, hasNextPage, fetchNextPage } = useInfiniteQuery(auditQuery());
  const entries = data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Section title="Audit trail" note="Who changed what. Entries cannot be changed or removed.">
      {data === undefined ? (
        isError ? (
          <ErrorState {...explain(error)} onRetry={() => void refetch()} />
        ) : (
          <Skeleton lines={6} label="Loading audit trail" />
        )
      ) : (
        <Table label="Audit trail">
          <thead>
            <tr>
              <th scope="col">When</th>
              <th scope="col">Who</th>
              <th scope="col">Action</th>
              <th scope="col">Target</th>
              <th scope="col">Detail</th>
            </tr>
          </thead>
          <tbody>
            {entries.map((entry) => (
              <tr key={entry.id}>
                <td className={tableStyles["nowrap"]}>
                  <Time at={entry.at} style="clock" />
                </td>
                <td>
                  {entry.actor}
                  {who(entry) !== "" && <span className={clsx(tableStyles["dim"], tableStyles["nowrap"])}> {who(entry)}</span>}
                </td>
                <td>
                  <code>{entry.action}</code>
                </td>
                <td className={styles["target"]}>
                  <Target name={entry.target} />
                </td>
                <td className={clsx(tableStyles["wrap"], tableStyles["dim"])}>{detailText(entry.detail)}</td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      {hasNextPage && <Button onClick={() => void fetchNextPage()}>Show older</Button>}
    </Section>
  );
}

/** Names are chosen by those who bear them; ids are not. */
const who = (entry: { user_id: number | null; token_id: number | null }): string =>
  entry.user_id !== null ? `user ${entry.user_id}` : entry.token_id !== null ? `token ${entry.token_id}` : "";

function Target({ name }: { name: string }): ReactElement {
  const page = targetOf(name);
  if (page === null) return <>{name}</>;
  return page.kind === "incident" ? (
    <Link to="/incidents/$incidentId" params={{ incidentId: page.id }}>
      {name}
    </Link>
  ) : (
    <Link to="/resources/$resourceId" params={{ resourceId: page.id }}>
      {name}
    </Link>
  );
}
