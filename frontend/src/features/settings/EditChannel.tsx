import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactElement, type SyntheticEvent } from "react";

import { api, unwrap } from "@/api/client";
import { explain } from "@/api/problem";
import { settingsKeys, type Channel, type ChannelKind } from "@/api/settings";
import { Button } from "@/ui/Button";
import { Field } from "@/ui/Field";
import { useToast } from "@/ui/Toast";

import { filterOf, formOf, type FilterForm } from "./channelFilter";
import { FilterFields, MoreConditions } from "./FilterFields";
import { FilterPreview } from "./FilterPreview";
import styles from "./Settings.module.css";

interface EditChannelProps {
  channel: Channel;
  kind: ChannelKind | undefined;
  onDone: () => void;
}

/** Name and conditions. The destination stays the same, so no secret is needed. */
export function EditChannel({ channel, kind, onDone }: EditChannelProps): ReactElement {
  const client = useQueryClient();
  const toast = useToast();
  const [name, setName] = useState(channel.name);
  const [filter, setFilter] = useState<FilterForm>(() => formOf(channel));
  const save = useMutation({
    mutationFn: () => unwrap(api.PATCH("/api/v1/channels/{channel_id}", { params: { path: { channel_id: channel.id } }, body: { name, ...filterOf(filter) } })),
    onSuccess: () => {
      toast({ text: `${name} changed` });
      onDone();
    },
    onSettled: () => client.invalidateQueries({ queryKey: settingsKeys.channels }),
  });
  const submit = (event: SyntheticEvent): void => {
    event.preventDefault();
    save.mutate();
  };
  const problem = save.error === null ? null : explain(save.error);
  return (
    <form className={styles["form"]} onSubmit={submit} aria-label={`Edit ${channel.name}`}>
      <Field label="Name">{(attributes) => <input {...attributes} required maxLength={100} value={name} onChange={(event) => setName(event.target.value)} />}</Field>
      <FilterFields value={filter} onChange={setFilter} />
      <MoreConditions value={filter} onChange={setFilter} kind={kind} />
      <FilterPreview form={filter} kind={channel.kind} />
      {problem !== null && (
        <p role="alert" className={styles["hot"]} style={{ marginTop: 12 }}>
          {problem.title}. {problem.detail}
        </p>
      )}
      <p className={styles["inline"]} style={{ marginTop: 16 }}>
        <Button type="submit" kind="primary" disabled={save.isPending}>
          Save channel
        </Button>
        <Button onClick={onDone}>Cancel</Button>
      </p>
    </form>
  );
}
