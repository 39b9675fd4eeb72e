import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, type ReactElement } from "react";

import { explain } from "@/api/problem";
import { channelPreviewQuery, type ChannelPreview } from "@/api/settings";
import { plural } from "@/lib/format";
import { useSettled } from "@/lib/useSettled";
import { Skeleton } from "@/ui/states";
import { Table, tableStyles } from "@/ui/Table";
import { Time } from "@/ui/Time";

import { ACTION_TITLES, filterOf, problemOf, type FilterForm } from "./channelFilter";
import styles from "./Settings.module.css";

interface FilterPreviewProps {
  form: FilterForm;
  kind: string | null;
}

/** Preview of the messages that the channel in the form would have sent. */
export function FilterPreview({ form, kind }: FilterPreviewProps): ReactElement {
  const problem = problemOf(form);
  const asked = useMemo(() => ({ ...filterOf(form), kind }), [form, kind]);
  const settled = useSettled(asked, problem === null);
  const preview = useQuery({
    ...channelPreviewQuery(settled),
    placeholderData: keepPreviousData,
    enabled: problem === null,
  });
  if (problem !== null || preview.isError) {
    return (
      <p role="status" className={styles["hot"]} style={{ marginTop: 16 }}>
        {problem ?? explain(preview.error).detail}
      </p>
    );
  }
  if (preview.data === undefined) return <Skeleton lines={2} label="Loading preview" />;
  return <Told preview={preview.data} />;
}

function Told({ preview }: { preview: ChannelPreview }): ReactElement {
  const { messages, incidents, held } = preview;
  const counts = Object.entries(preview.by_action).map(([action, count]) => `${titleOf(action)}: ${count}`);
  return (
    <div className={styles["preview"]}>
      <p role="status">
        {messages === 0 ? "Would have sent no messages" : `Would have sent ${plural(messages, "message")} about ${plural(incidents, "incident")}`}{" "}
        {preview.complete ? "in the last 7 days" : <>since <Time at={preview.since} style="clock" /></>}
        {held > 0 && `, ${held} of them after quiet hours`}.
      </p>
      {messages > 0 && (
        <details>
          <summary>Show the last {plural(preview.last.length, "message")}</summary>
          <p className={styles["dim"]}>{counts.join(", ")}</p>
          <Table label="Messages it would have sent">
            <thead>
              <tr>
                <th scope="col">When</th>
                <th scope="col">Message</th>
                <th scope="col">Incident</th>
              </tr>
            </thead>
            <tbody>
              {preview.last.map((one, index) => (
                // Two messages can have the same incident, action, and time.
                <tr key={index}>
                  <td className={tableStyles["nowrap"]}>
                    <Time at={one.held_until ?? one.at} />
                  </td>
                  <td className={tableStyles["nowrap"]}>
                    {titleOf(one.action)}, {one.severity}
                    {one.held_until !== null && ", held"}
                  </td>
                  <td className={tableStyles["wrap"]}>
                    <Link to="/incidents/$incidentId" params={{ incidentId: one.incident_id }}>
                      {one.title}
                    </Link>
                  </td>
                </tr>
              ))}
            </tbody>
          </Table>
        </details>
      )}
    </div>
  );
}

const titleOf = (action: string): string => (action in ACTION_TITLES ? ACTION_TITLES[action as keyof typeof ACTION_TITLES] : action);
