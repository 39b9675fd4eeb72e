import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useState, type ReactElement } from "react";

import type { Incident } from "@/api/incidents";
import { meQuery } from "@/api/me";
import { Button } from "@/ui/Button";

import styles from "./History.module.css";

// Few readers of a note edit it.
const NoteEditor = lazy(async () => ({ default: (await import("./NoteEditor")).NoteEditor }));

/** Edit and delete, only below the user's own notes. */
export function NoteTools({ incidentId, entry }: { incidentId: number; entry: Incident["history"][number] }): ReactElement | null {
  const { data: me } = useQuery(meQuery());
  const [open, setOpen] = useState<"edit" | "delete" | null>(null);
  const isOwn = entry.author_id !== null && entry.author_id === me?.user_id && me.scopes.includes("incidents:write");
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
      <Button kind="quiet" aria-label={`Edit note: ${entry.detail ?? ""}`} onClick={() => setOpen("edit")}>
        Edit
      </Button>
      <Button kind="quiet" aria-label={`Delete note: ${entry.detail ?? ""}`} onClick={() => setOpen("delete")}>
        Delete
      </Button>
    </span>
  );
}
