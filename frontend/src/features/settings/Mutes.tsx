import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Fragment, type ReactElement } from "react";

import { mutesQuery, useEndMute, type Mute } from "@/api/mutes";
import { explain } from "@/api/problem";
import { plural } from "@/lib/format";
import { hoursInWords } from "@/lib/weeklyHours";
import { ActionButton } from "@/ui/ActionButton";
import { Button } from "@/ui/Button";
import { Section } from "@/ui/Section";
import { ErrorState, Skeleton } from "@/ui/states";
import { Time } from "@/ui/Time";
import { useToast } from "@/ui/Toast";
import { useRefusal } from "@/widgets/useRefusal";
import { useTellError } from "@/widgets/useTellError";

import { conditionsInWords, SEVERITIES } from "./channelFilter";
import { NewMute } from "./NewMute";
import styles from "./Settings.module.css";

/** All mutes, including ended ones, and a form to add one. */
export function Mutes(): ReactElement {
  const refusal = useRefusal("incidents:write");
  return (
    <>
      <Section title="Mutes" note="Muted incidents are found and listed but send no messages. When a mute ends, channels are notified of incidents that are still open.">
        {refusal !== null && (
          <p className={styles["dim"]} style={{ marginBottom: 12 }}>
            {refusal}
          </p>
        )}
        <List ended={false} nothing="No mutes. Add one below, or on the page of an incident." refusal={refusal} />
      </Section>
      <NewMute refusal={refusal} />
      <Section title="Ended">
        <List ended nothing="No mute has ended yet." refusal={refusal} />
      </Section>
    </>
  );
}

/** Worst first. */
const inOrder = (severities: Mute["severities"]): readonly string[] => SEVERITIES.filter((one) => severities.includes(one)).toReversed();

function List({ ended, nothing, refusal }: { ended: boolean; nothing: string; refusal: string | null }): ReactElement {
  const { data, isError, error, refetch, hasNextPage, fetchNextPage } = useInfiniteQuery(mutesQuery(ended));
  const mutes = data?.pages.flatMap((page) => page.items);
  if (mutes === undefined) return isError ? <ErrorState {...explain(error)} onRetry={() => void refetch()} /> : <Skeleton lines={3} label="Loading mutes" />;
  if (mutes.length === 0) return <p className={styles["dim"]}>{nothing}</p>;
  return (
    <>
      <ul aria-label={ended ? "Ended mutes" : "Mutes"}>
        {mutes.map((mute) => (
          <Row key={mute.id} mute={mute} refusal={refusal} />
        ))}
      </ul>
      {hasNextPage && <Button onClick={() => void fetchNextPage()}>Show older</Button>}
    </>
  );
}

function Row({ mute, refusal }: { mute: Mute; refusal: string | null }): ReactElement {
  const end = useEndMute();
  const tell = useTellError();
  const toast = useToast();
  return (
    <li className={styles["channel"]}>
      <div className={styles["channelHead"]}>
        <h3>{mute.reason}</h3>
        {mute.state !== "ended" && (
          <ActionButton
            refusal={refusal}
            disabled={end.isPending}
            aria-label={`End mute: ${mute.reason}`}
            onClick={() => void end.mutateAsync(mute.id).then(() => toast({ text: "Mute ended" }), tell)}
          >
            End mute
          </ActionButton>
        )}
      </div>
      <p>
        <What mute={mute} />
      </p>
      <p className={styles["dim"]}>
        <When mute={mute} /> By {mute.created_by}, <Time at={mute.created_at} />.
      </p>
      {mute.incidents.length > 0 && (
        <p className={styles["dim"]}>
          Mutes {plural(mute.incidents.length, "open incident")} now:{" "}
          {mute.incidents.slice(0, 5).map((id, index) => (
            <Fragment key={id}>
              {index > 0 && ", "}
              <Link to="/incidents/$incidentId" params={{ incidentId: id }}>
                incident {id}
              </Link>
            </Fragment>
          ))}
          {mute.incidents.length > 5 && ", …"}
        </p>
      )}
    </li>
  );
}

function What({ mute }: { mute: Mute }): ReactElement {
  const { incident_id: incidentId, incident_title: title, resource_id: resourceId, resource_name: name, severities } = mute;
  const parts = [...(severities.length > 0 ? [inOrder(severities).join(" or ")] : []), ...conditionsInWords(mute.conditions)];
  return (
    <>
      {incidentId !== null && (
        <Link to="/incidents/$incidentId" params={{ incidentId }}>
          {title ?? `Incident ${incidentId}`}
        </Link>
      )}
      {resourceId !== null && (
        <>
          Resource{" "}
          <Link to="/resources/$resourceId" params={{ resourceId }}>
            {name ?? String(resourceId)}
          </Link>
          {parts.length > 0 && ", "}
        </>
      )}
      {parts.length > 0 && parts.join(", ")}
    </>
  );
}

function When({ mute }: { mute: Mute }): ReactElement {
  if (mute.ended_at !== null) {
    return (
      <>
        Ended <Time at={mute.ended_at} />
        {mute.ended_by !== null && ` by ${mute.ended_by}`}.
      </>
    );
  }
  return (
    <>
      {mute.hours !== null && `${hoursInWords(mute.hours)}${mute.state === "waits" ? ", not now" : ""}. `}
      {mute.until !== null ? (
        <>
          Until <Time at={mute.until} style="clock" />.
        </>
      ) : (
        "Until it is ended."
      )}
    </>
  );
}
