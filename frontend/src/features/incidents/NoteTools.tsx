import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useState, type ReactElement } from "react";

import type { Incident } from "@/api/incidents";
import { meQuery } from "@/api/me";
import { ActionButton } from "@/ui/ActionButton";
import { useRefusal } from "@/widgets/useRefusal";

import styles from "./History.module.css";

// Few readers of a note edit it.
const NoteEditor = lazy(async () => ({ default: (await import("./NoteEditor")).NoteEditor }));

/** Edit and delete, only below the user's own notes. */
export function NoteTools({ incidentId, entry }: { incidentId: number; entry: Incident["history"][number] }): ReactElement | null {
  const { data: me } = useQuery(meQuery());
  const refusal = useRefusal("incidents:write");
  const [open, setOpen] = useState<"edit" | "delete" | null>(null);
  const isOwn = entry.author_id !== null && entry.author_id === me?.user_id;
  if (!isOwn || entry.deleted) return null;
  if (open !== null) {
    return (
      <Suspense>
        <NoteEditor incidentId={incidentId} noteId={entry.id} note={entry.detail ?? ""} deletes={open === "delete"} onDone={() => setOpen(null)} />
      </Suspense>
    );
  }
  return (
    <span className={styles["tools"]}>
      <ActionButton kind="quiet" refusal={refusal} aria-label={`Edit note: ${entry.detail ?? ""}`} onClick={() => setOpen("edit")}>
        Edit
      </ActionButton>
      <ActionButton kind="quiet" refusal={refusal} aria-label={`Delete note: ${entry.detail ?? ""}`} onClick={() => setOpen("delete")}>
        Delete
      </ActionButton>
    </span>
  );
}
