import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";

import { api, unwrap } from "@/api/client";
import { deliveriesQuery, settingsKeys, type Delivery } from "@/api/settings";
import { plural } from "@/lib/format";
import { ActionButton } from "@/ui/ActionButton";
import { Table, tableStyles } from "@/ui/Table";
import { Time } from "@/ui/Time";
import { Async } from "@/widgets/Async";
import { useTellError } from "@/widgets/useTellError";

import styles from "./Settings.module.css";

const STATES = { pending: "waiting", sending: "sending", sent: "✓ sent", dead: "✕ failed", skipped: "not sent" } as const;

interface DeliveriesProps {
  channelId: number;
  /** Mail servers have their own status codes. */
  mail: boolean;
  /** Why the user cannot send again; null: allowed. */
  refusal: string | null;
}

export function Deliveries({ channelId, mail, refusal }: DeliveriesProps): ReactElement {
  const client = useQueryClient();
  const tell = useTellError();
  const deliveries = useQuery(deliveriesQuery(channelId));
  const retry = useMutation({
    mutationFn: (id: number) =>
      unwrap(api.POST("/api/v1/channels/{channel_id}/deliveries/{delivery_id}/retry", { params: { path: { channel_id: channelId, delivery_id: id } } })),
    onError: tell,
    onSettled: () => client.invalidateQueries({ queryKey: settingsKeys.channels }),
  });
  return (
    <Async query={deliveries} label="Loading deliveries">
      {({ items }) =>
        items.length === 0 ? (
          <p className={styles["dim"]}>No deliveries yet.</p>
        ) : (
          <Table label="Last deliveries">
            <thead>
              <tr>
                <th scope="col">When</th>
                <th scope="col">Message</th>
                <th scope="col">State</th>
                <th scope="col">Attempts</th>
                <th scope="col">Response</th>
              </tr>
            </thead>
            <tbody>
              {items.map((delivery) => (
                <tr key={delivery.id}>
                  <td className={tableStyles["nowrap"]}>
                    <Time at={delivery.created_at} />
                  </td>
                  <td>
                    {delivery.type}{" "}
                    <Link to="/incidents/$incidentId" params={{ incidentId: delivery.incident_id }}>
                      incident {delivery.incident_id}
                    </Link>
                  </td>
                  <td className={styles[delivery.state === "sent" ? "ok" : delivery.state === "dead" ? "hot" : "dim"]}>
                    <State delivery={delivery} />
                    {delivery.held_back !== null && `, as a summary of ${plural(delivery.held_back, "message")}`}
                    {delivery.state === "dead" && (
                      <ActionButton kind="quiet" refusal={refusal} onClick={() => retry.mutate(delivery.id)}>
                        Try again
                      </ActionButton>
                    )}
                  </td>
                  <td>{delivery.attempts}</td>
                  <td className={tableStyles["wrap"]}>{delivery.last_error ?? (delivery.last_status === null ? "" : `${mail ? "SMTP" : "HTTP"} ${delivery.last_status}`)}</td>
                </tr>
              ))}
            </tbody>
          </Table>
        )
      }
    </Async>
  );
}

function State({ delivery: { state, attempts, held_until: heldUntil, held_back: heldBack, next_attempt_at: nextAttemptAt } }: { delivery: Delivery }): ReactElement {
  const until = state === "pending" && attempts === 0 ? (heldUntil ?? (heldBack === null ? null : nextAttemptAt)) : null;
  if (until === null) return <>{STATES[state]}</>;
  return (
    <>
      held until <Time at={until} style="clock" />
    </>
  );
}
