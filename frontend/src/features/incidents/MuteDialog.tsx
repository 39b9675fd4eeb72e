import { useId, useState, type ReactElement, type SyntheticEvent } from "react";

import type { Incident } from "@/api/incidents";
import { DURATIONS, inHours, useCreateMute, useEndMute } from "@/api/mutes";
import { explain } from "@/api/problem";
import { fromWallTime, toWallTime, zoneName } from "@/lib/wallTime";
import { parseUs, toRfc3339 } from "@/lib/time";
import { Button } from "@/ui/Button";
import { Choice } from "@/ui/Choice";
import { Dialog, DialogActions } from "@/ui/Dialog";
import { Field } from "@/ui/Field";
import { useToast } from "@/ui/Toast";
import { MutePreview } from "@/widgets/mutes/MutePreview";
import { useTellError } from "@/widgets/useTellError";

import styles from "./MuteDialog.module.css";
import { scopesOf } from "./muteScopes";

interface MuteDialogProps {
  incident: Incident;
  onOpenChange: (open: boolean) => void;
}

/** Mutes this incident or all of its kind, with a reason and an end. */
export function MuteDialog({ incident, onOpenChange }: MuteDialogProps): ReactElement {
  return (
    <Dialog open onOpenChange={onOpenChange} title="Mute" description="Muted incidents are still found and listed. They send no messages until the mute ends.">
      <Form incident={incident} onDone={() => onOpenChange(false)} />
    </Dialog>
  );
}

const UNTIL = "until";

function Form({ incident, onDone }: { incident: Incident; onDone: () => void }): ReactElement {
  const scopes = scopesOf(incident);
  const name = useId();
  const toast = useToast();
  const tell = useTellError();
  const [scopeId, setScopeId] = useState(scopes[0]?.id);
  const [length, setLength] = useState<string>(DURATIONS[0][0]);
  const [wall, setWall] = useState(() => toWallTime(parseUs(inHours(24)), "local").slice(0, 16));
  const [reason, setReason] = useState("");
  const end = useEndMute();
  const create = useCreateMute();
  const scope = scopes.find(({ id }) => id === scopeId) ?? scopes[0];
  if (scope === undefined) throw new Error("an incident can at least be muted itself");

  const submit = (event: SyntheticEvent): void => {
    event.preventDefault();
    const hours = DURATIONS.find(([title]) => title === length)?.[1];
    const us = fromWallTime(wall, "local");
    const until = hours !== undefined ? inHours(hours) : us === null ? null : toRfc3339(us);
    create.mutate(
      { ...scope.filter, until, reason: reason.trim() },
      {
        onSuccess: (mute) => {
          toast({ text: mute.incident_id === null ? `Mute ${mute.id} added` : "Muted", undo: () => end.mutate(mute.id, { onError: tell }) });
          onDone();
        },
      },
    );
  };
  const problem = create.error === null ? null : explain(create.error);
  return (
    <form onSubmit={submit}>
      <fieldset className={styles["scopes"]}>
        <legend>What</legend>
        {scopes.map(({ id, title }) => (
          <label key={id}>
            <input type="radio" name={name} checked={id === scope.id} onChange={() => setScopeId(id)} />
            <span>{title}</span>
          </label>
        ))}
      </fieldset>
      <div className={styles["length"]}>
        <span>For</span>
        <Choice label="For" options={[...DURATIONS.map(([title]) => [title, title] as const), [UNTIL, "Until…"]]} value={length} onChange={setLength} />
      </div>
      {length === UNTIL && (
        <Field label={`Until (${zoneName("local")})`}>
          {(attributes) => <input {...attributes} type="datetime-local" required value={wall} onChange={(event) => setWall(event.target.value)} />}
        </Field>
      )}
      <Field label="Reason" hint="Shown wherever the incident appears">
        {(attributes) => <input {...attributes} required maxLength={500} autoComplete="off" value={reason} onChange={(event) => setReason(event.target.value)} />}
      </Field>
      <MutePreview filter={scope.filter} />
      {problem !== null && (
        <p role="alert" className={styles["problem"]}>
          {problem.title}. {problem.detail}
        </p>
      )}
      <DialogActions>
        <Button onClick={onDone}>Cancel</Button>
        <Button type="submit" kind="primary" disabled={create.isPending || reason.trim() === ""}>
          Mute
        </Button>
      </DialogActions>
    </form>
  );
}
