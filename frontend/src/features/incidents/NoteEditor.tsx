import { useEffect, useRef, useState, type ReactElement, type SubmitEvent } from "react";

import { useChangeNote } from "@/api/incidentActions";
import { Button } from "@/ui/Button";
import { Field } from "@/ui/Field";
import { useToast } from "@/ui/Toast";
import { useTellError } from "@/widgets/useTellError";

import styles from "./History.module.css";

interface NoteEditorProps {
  incidentId: number;
  noteId: number;
  note: string;
  /** Asks for confirmation of deletion instead of editing. */
  deletes: boolean;
  onDone: () => void;
}

export function NoteEditor({ incidentId, noteId, note, deletes, onDone }: NoteEditorProps): ReactElement {
  const [text, setText] = useState(note);
  const { mutate, isPending } = useChangeNote(incidentId, noteId);
  const tell = useTellError();
  const toast = useToast();
  const form = useRef<HTMLFormElement>(null);
  // The button that opened it no longer exists.
  useEffect(() => form.current?.querySelector<HTMLElement>("textarea, button")?.focus(), []);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    mutate(deletes ? null : text, {
      onSuccess: () => {
        toast({ text: deletes ? "Note deleted" : "Note edited" });
        onDone();
      },
      onError: tell,
    });
  };
  return (
    <form ref={form} className={styles["editor"]} onSubmit={submit}>
      {deletes ? (
        <p>The history keeps an entry without the text. The audit trail keeps the text.</p>
      ) : (
        <Field label="Text of the note">{(attributes) => <textarea {...attributes} rows={3} maxLength={2000} value={text} onChange={(event) => setText(event.target.value)} />}</Field>
      )}
      <span className={styles["tools"]}>
        <Button type="submit" kind={deletes ? "danger" : "primary"} disabled={isPending || (!deletes && (text.trim() === "" || text.trim() === note))}>
          {deletes ? "Delete note" : "Save note"}
        </Button>
        <Button onClick={onDone}>Cancel</Button>
      </span>
    </form>
  );
}
