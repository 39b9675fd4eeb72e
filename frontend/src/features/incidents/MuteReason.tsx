import { useState, type ReactElement, type SubmitEvent } from "react";

import { useIncidentAction } from "@/api/incidentActions";
import type { Incident } from "@/api/incidents";
import { Button } from "@/ui/Button";
import { Dialog, DialogActions } from "@/ui/Dialog";
import { Field } from "@/ui/Field";
import { useToast } from "@/ui/Toast";
import { useTellError } from "@/widgets/useTellError";

/** Changes the reason of a mute; its end stays the same. */
export function MuteReason({ incident, onOpenChange }: { incident: Incident; onOpenChange: (open: boolean) => void }): ReactElement {
  const [reason, setReason] = useState("");
  const { mutate, isPending } = useIncidentAction();
  const toast = useToast();
  const tell = useTellError();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    mutate(
      { id: incident.id, action: { kind: "mute", until: incident.muted_until, reason: reason.trim() } },
      {
        onSuccess: () => {
          toast({ text: "Reason saved" });
          onOpenChange(false);
        },
        onError: tell,
      },
    );
  };
  return (
    <Dialog open onOpenChange={onOpenChange} title="Reason of the mute" description="Shown wherever the incident appears. The end of the mute does not change.">
      <form onSubmit={submit}>
        <Field label="Reason">{(attributes) => <input {...attributes} required maxLength={500} autoComplete="off" value={reason} onChange={(event) => setReason(event.target.value)} />}</Field>
        <DialogActions>
          <Button onClick={() => onOpenChange(false)}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={isPending || reason.trim() === ""}>
            Save reason
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
