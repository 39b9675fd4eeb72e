import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { memo, type ReactElement } from "react";

import { causesQuery } from "@/api/causes";
import type { Schemas } from "@/api/client";
import { plural } from "@/lib/format";

import { Prose } from "./Prose";
import styles from "./Rivals.module.css";

type Status = Schemas["Rival"]["status"];

const STATUS: Record<Status, { mark: string; text: string }> = {
  ruled_out: { mark: "✓", text: "ruled out" },
  not_ruled_out: { mark: "!", text: "not ruled out" },
  not_enough_data: { mark: "?", text: "not enough data" },
};

export interface RivalsProps {
  rivals: readonly Schemas["SharedRival"][];
  notEnoughData: readonly Schemas["NotEnoughData"][];
  /** Whether causes link to their description: only for signed-in users. */
  linked?: boolean;
}

/** More causes without data than this open on demand: they would bury those that the data speaks about. */
const LISTED = 4;

/** Other possible causes, and whether the data rules them out. Missing data is stated explicitly. */
export const Rivals = memo(function Rivals({ rivals, notEnoughData, linked = true }: RivalsProps): ReactElement {
  const { data: causes } = useQuery({ ...causesQuery(), enabled: linked });
  const named = new Set(rivals.map((rival) => rival.cause));
  const unjudged = notEnoughData.filter((item) => !named.has(item.cause));
  const others = unjudged.map((item) => (
    <Row key={item.cause} cause={item.cause} title={causes?.find((one) => one.id === item.cause)?.title ?? item.cause} status="not_enough_data" reason={item.reason} linked={linked} />
  ));
  return (
    <>
      <ul className={styles["rivals"]}>
        {rivals.map((rival) => (
          <Row key={rival.cause} cause={rival.cause} title={rival.title} status={rival.status} reason={rival.reason} linked={linked} />
        ))}
        {others.length <= LISTED && others}
      </ul>
      {others.length > LISTED && (
        <details className={styles["more"]}>
          <summary>{plural(others.length, "more cause")}: not enough data</summary>
          <ul className={styles["rivals"]}>{others}</ul>
        </details>
      )}
    </>
  );
});

function Row({ cause, title, status, reason, linked }: { cause: string; title: string; status: Status; reason: string; linked: boolean }): ReactElement {
  return (
    <li>
      <p className={styles["title"]}>
        {linked ? (
          <Link to="/help/causes" search={{ cause }}>
            {title}
          </Link>
        ) : (
          title
        )}
        <span className={styles["status"]} data-status={status}>
          <span aria-hidden="true">{STATUS[status].mark}</span> {STATUS[status].text}
        </span>
      </p>
      <p className={styles["reason"]}>
        <Prose text={reason} />
      </p>
    </li>
  );
}
