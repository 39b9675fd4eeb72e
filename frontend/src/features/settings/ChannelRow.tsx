import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";

import { api, unwrap } from "@/api/client";
import { settingsKeys, type Channel, type ChannelKind } from "@/api/settings";
import { plural } from "@/lib/format";
import { ActionButton } from "@/ui/ActionButton";
import { Button } from "@/ui/Button";
import { Dialog, DialogActions } from "@/ui/Dialog";
import { Time } from "@/ui/Time";
import { useToast } from "@/ui/Toast";
import { useTellError } from "@/widgets/useTellError";

import { ACTION_TITLES, ACTIONS, inWords, quietInWords } from "./channelFilter";
import { Deliveries } from "./Deliveries";
import { EditChannel } from "./EditChannel";
import styles from "./Settings.module.css";

interface ChannelRowProps {
  channel: Channel;
  kind: ChannelKind | undefined;
  /** Why the user cannot change channels; null: allowed. */
  refusal: string | null;
}

export function ChannelRow({ channel, kind, refusal }: ChannelRowProps): ReactElement {
  const client = useQueryClient();
  const tell = useTellError();
  const toast = useToast();
  const [open, setOpen] = useState<"deliveries" | "edit" | null>(null);
  const [asked, setAsked] = useState(false);
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
  const remove = useMutation({
    mutationFn: () => unwrap(api.DELETE("/api/v1/channels/{channel_id}", { params })),
    onSuccess: () => setAsked(false),
    ...done,
  });
  // Of those held back, one waits: as the summary.
  const waiting = channel.pending - channel.held - Math.min(channel.held_back, 1);
  const toggle = (part: "deliveries" | "edit"): void => setOpen(open === part ? null : part);
  return (
    <li className={styles["channel"]}>
      <div className={styles["channelHead"]}>
        <h3>
          {channel.name}{" "}
          <span className={styles["dim"]}>
            {kind?.title ?? channel.kind}, {channel.target}
          </span>
        </h3>
        <ActionButton refusal={refusal} onClick={() => test.mutate()} disabled={test.isPending}>
          {test.isPending ? "Sending…" : "Send test"}
        </ActionButton>
        <ActionButton refusal={refusal} onClick={() => update.mutate(!channel.enabled)}>
          {channel.enabled ? "Pause" : "Resume"}
        </ActionButton>
        <ActionButton refusal={refusal} onClick={() => toggle("edit")} aria-expanded={open === "edit"}>
          Edit
        </ActionButton>
        <Button onClick={() => toggle("deliveries")} aria-expanded={open === "deliveries"}>
          Deliveries
        </Button>
        <ActionButton kind="quiet" refusal={refusal} onClick={() => setAsked(true)} aria-label={`Remove ${channel.name}`}>
          Remove
        </ActionButton>
      </div>
      <p className={styles["dim"]}>
        {channel.enabled ? `${inWords(channel)}. Messages: ${messages(channel, kind)}.` : "Paused: nothing is sent."}{" "}
        {channel.enabled && channel.quiet_hours !== null && `${quietInWords(channel.quiet_hours)}.`}
      </p>
      <p className={styles["dim"]}>
        {channel.last_sent_at === null ? (
          "Nothing sent yet."
        ) : (
          <>
            Last sent <Time at={channel.last_sent_at} />.
          </>
        )}
        {waiting > 0 && ` ${plural(waiting, "message")} waiting.`}
        {channel.held > 0 && ` ${plural(channel.held, "message")} held until quiet hours end.`}
      </p>
      {channel.held_back > 0 && (
        <p className={styles["hot"]}>{plural(channel.held_back, "message")} held back: the organization has used its emails of an hour. A summary follows.</p>
      )}
      {channel.dead > 0 && (
        <p className={styles["hot"]}>
          ✕ {plural(channel.dead, "message")} failed. {channel.last_error}
        </p>
      )}
      {open === "edit" && <EditChannel channel={channel} kind={kind} onDone={() => setOpen(null)} />}
      {open === "deliveries" && <Deliveries channelId={channel.id} mail={channel.kind === "email"} refusal={refusal} />}
      <Dialog
        open={asked}
        onOpenChange={setAsked}
        title={`Remove channel: ${channel.name}`}
        description={`Its configuration and its list of deliveries are deleted.${channel.pending > 0 ? ` ${plural(channel.pending, "message")} will not be sent.` : ""}`}
      >
        <DialogActions>
          <Button onClick={() => setAsked(false)}>Cancel</Button>
          <Button kind="primary" disabled={remove.isPending} onClick={() => remove.mutate()}>
            Remove channel
          </Button>
        </DialogActions>
      </Dialog>
    </li>
  );
}

const titles = (actions: typeof ACTIONS): string => actions.map((one) => ACTION_TITLES[one].toLowerCase()).join(", ");

function messages(channel: Channel, kind: ChannelKind | undefined): string {
  const possible = ACTIONS.filter((one) => kind?.silent_actions.includes(one) !== true);
  const wanted = possible.filter((one) => channel.actions.includes(one));
  const others = possible.filter((one) => !channel.actions.includes(one));
  if (wanted.length === 0) return "none";
  if (others.length === 0) return "all";
  return others.length <= 3 ? `all but ${titles(others)}` : titles(wanted);
}
