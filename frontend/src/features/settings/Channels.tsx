import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";

import { api, unwrap } from "@/api/client";
import { channelKindsQuery, channelsQuery, settingsKeys, type Channel } from "@/api/settings";
import { plural } from "@/lib/format";
import { Button } from "@/ui/Button";
import { Section } from "@/ui/Section";
import { Time } from "@/ui/Time";
import { useToast } from "@/ui/Toast";
import { Async } from "@/widgets/Async";
import { useTellError } from "@/widgets/useTellError";

import { Deliveries } from "./Deliveries";
import { NewChannel } from "./NewChannel";
import styles from "./Settings.module.css";

export function Channels(): ReactElement {
  const channels = useQuery(channelsQuery());
  const kinds = useQuery(channelKindsQuery());
  return (
    <>
      <Section title="Notification channels" note="Each change of an incident is sent to every channel that subscribes to it. A delivery whose answer is lost can arrive twice.">
        <Async query={channels} label="Loading channels">
          {(all) =>
            all.length === 0 ? (
              <p className={styles["dim"]}>No channels yet. Add a Slack channel or a webhook below.</p>
            ) : (
              <ul>
                {all.map((channel) => (
                  <ChannelRow key={channel.id} channel={channel} />
                ))}
              </ul>
            )
          }
        </Async>
      </Section>
      {kinds.data !== undefined && <NewChannel kinds={kinds.data} />}
    </>
  );
}

function ChannelRow({ channel }: { channel: Channel }): ReactElement {
  const client = useQueryClient();
  const tell = useTellError();
  const toast = useToast();
  const [open, setOpen] = useState(false);
  const params = { path: { channel_id: channel.id } };
  const done = { onError: tell, onSettled: () => client.invalidateQueries({ queryKey: settingsKeys.channels }) };
  const test = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/channels/{channel_id}/test", { params })),
    onSuccess: (result) =>
      toast(
        result.ok
          ? { text: `${channel.name} accepted the test message in ${Math.round(result.took_ms)} ms` }
          : { text: `${channel.name} rejected the test message: ${result.detail}`, tone: "error" },
      ),
    ...done,
  });
  const update = useMutation({ mutationFn: (enabled: boolean) => unwrap(api.PATCH("/api/v1/channels/{channel_id}", { params, body: { enabled } })), ...done });
  const remove = useMutation({ mutationFn: () => unwrap(api.DELETE("/api/v1/channels/{channel_id}", { params })), ...done });
  return (
    <li className={styles["channel"]}>
      <div className={styles["channelHead"]}>
        <h3>
          {channel.name}{" "}
          <span className={styles["dim"]}>
            {channel.kind}, {channel.target}
          </span>
        </h3>
        <Button onClick={() => test.mutate()} disabled={test.isPending}>
          {test.isPending ? "Sending…" : "Send test"}
        </Button>
        <Button onClick={() => update.mutate(!channel.enabled)}>{channel.enabled ? "Pause" : "Resume"}</Button>
        <Button onClick={() => setOpen(!open)} aria-expanded={open}>
          Deliveries
        </Button>
        <Button kind="quiet" onClick={() => remove.mutate()} aria-label={`Remove ${channel.name}`}>
          Remove
        </Button>
      </div>
      <p className={styles["dim"]}>
        {channel.enabled ? `${channel.min_severity} and above: ${channel.actions.join(", ")}.` : "Paused: nothing is sent."}{" "}
        {channel.last_sent_at === null ? "Nothing sent yet." : (
          <>
            Last sent <Time at={channel.last_sent_at} />.
          </>
        )}
        {channel.pending > 0 && ` ${plural(channel.pending, "message")} waiting.`}
      </p>
      {channel.dead > 0 && (
        <p className={styles["hot"]}>
          ✕ {plural(channel.dead, "message")} failed. {channel.last_error}
        </p>
      )}
      {open && <Deliveries channelId={channel.id} />}
    </li>
  );
}
