import { useState, type ReactElement } from "react";

import { useAddNote } from "@/api/incidentActions";
import { ActionButton } from "@/ui/ActionButton";
import { Field } from "@/ui/Field";
import { useRefusal } from "@/widgets/useRefusal";
import { useTellError } from "@/widgets/useTellError";

import styles from "./History.module.css";

/** A note with what people know and the product does not; it appears in the history and the post-mortem. */
export function NoteForm({ incidentId }: { incidentId: number }): ReactElement {
  const [note, setNote] = useState("");
  const { mutate, isPending } = useAddNote(incidentId);
  const tell = useTellError();
  const refusal = useRefusal("incidents:write");
  return (
    <form
      className={styles["form"]}
      onSubmit={(event) => {
        event.preventDefault();
        mutate(note, { onSuccess: () => setNote(""), onError: tell });
      }}
    >
      <Field label="Note" {...(refusal === null ? {} : { hint: refusal })}>
        {(attributes) => <textarea {...attributes} rows={2} maxLength={2000} readOnly={refusal !== null} value={note} onChange={(event) => setNote(event.target.value)} />}
      </Field>
      <ActionButton type="submit" refusal={refusal} disabled={isPending || note.trim() === ""}>
        Add note
      </ActionButton>
    </form>
  );
}
