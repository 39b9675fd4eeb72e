import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";

import { mutePreviewQuery, type MuteFilter } from "@/api/mutes";
import { explain } from "@/api/problem";
import { plural } from "@/lib/format";
import { Time } from "@/ui/Time";

import styles from "./Mutes.module.css";

/** What a mute would have muted in the last week, and what it mutes now. */
export function MutePreview({ filter }: { filter: MuteFilter }): ReactElement {
  const { data, error } = useQuery({ ...mutePreviewQuery(filter), placeholderData: keepPreviousData });
  if (error !== null) {
    return (
      <p role="status" className={styles["hot"]}>
        {explain(error).detail}
      </p>
    );
  }
  if (data === undefined) return <p className={styles["preview"]}>&nbsp;</p>;
  return (
    <div className={styles["preview"]}>
      <p role="status">
        {data.open === 0 ? "Mutes no open incidents now." : `Mutes ${plural(data.open, "open incident")} now.`}{" "}
        {data.incidents === 0 ? "Would have muted no incidents" : `Would have muted ${plural(data.incidents, "incident")}`}{" "}
        {data.complete ? "in the last 7 days" : <>since <Time at={data.since} style="clock" /></>}.
      </p>
      {data.last.length > 0 && (
        <details>
          <summary>Show the last {plural(data.last.length, "incident")}</summary>
          <ul>
            {data.last.map((one) => (
              <li key={one.id}>
                <Link to="/incidents/$incidentId" params={{ incidentId: one.id }}>
                  {one.title}
                </Link>{" "}
                <small>
                  {one.severity}, <Time at={one.first_at} />
                </small>
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}
