import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";

import type { Fleet } from "@/api/fleet";
import { namesOf, tickSearch } from "@/lib/container";

import styles from "./Home.module.css";
import { watchingText } from "./words";

/** What is measured while no incident is open, with a link to the worst of it. */
export function Watching({ fleet }: { fleet: Fleet }): ReactElement | null {
  const watched = watchingText(fleet);
  if (watched === null) return null;
  const { text, container } = watched;
  return (
    <p className={styles["coverage"]}>
      {text}
      {container !== null && (
        <>
          {" "}
          <Link to="/resources/$resourceId" params={{ resourceId: container.id }} search={container.worst_tick === null ? { minutes: 60 } : tickSearch(container.worst_tick)}>
            {namesOf(container).main}
          </Link>{" "}
          on {container.node.name}.
        </>
      )}
    </p>
  );
}
