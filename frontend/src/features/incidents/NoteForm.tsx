import { useQuery } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";

import { useAddNote } from "@/api/incidentActions";
import { meQuery } from "@/api/me";
import { Button } from "@/ui/Button";
import { Field } from "@/ui/Field";
import { useTellError } from "@/widgets/useTellError";

import styles from "./History.module.css";

const NO_RIGHT = "Your role can read, but not add notes.";

/** A note with what people know and the product does not; it appears in the history and the post-mortem. */
export function NoteForm({ incidentId }: { incidentId: number }): ReactElement {
  const { data: me } = useQuery(meQuery());
  const [note, setNote] = useState("");
  const { mutate, isPending } = useAddNote(incidentId);
  const tell = useTellError();
  const mayWrite = me?.scopes.includes("incidents:write") ?? false;
  return (
    <form
      className={styles["form"]}
      onSubmit={(event) => {
        event.preventDefault();
        mutate(note, { onSuccess: () => setNote(""), onError: tell });
      }}
    >
      <Field label="Note" {...(mayWrite || me === undefined ? {} : { hint: NO_RIGHT })}>
        {(attributes) => <textarea {...attributes} rows={2} maxLength={2000} disabled={!mayWrite} value={note} onChange={(event) => setNote(event.target.value)} />}
      </Field>
      <Button type="submit" disabled={!mayWrite || isPending || note.trim() === ""}>
        Add note
      </Button>
    </form>
  );
}
