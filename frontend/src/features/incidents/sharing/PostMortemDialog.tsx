import { useQuery } from "@tanstack/react-query";
import { useRef, useState, type ReactElement } from "react";

import { postMortemEditsQuery, postMortemQuery, type PostMortem } from "@/api/sharing";
import { Dialog } from "@/ui/Dialog";
import { Async } from "@/widgets/Async";

import { PostMortemEditor } from "./PostMortemEditor";
import styles from "./Sharing.module.css";

const DESCRIPTION = "Markdown of what was measured and done. Everyone in the organization sees what you save here.";

/** The incident as Markdown: generated from the data, or as edited by members. */
export function PostMortemDialog({ incidentId, onOpenChange }: { incidentId: number; onOpenChange: (open: boolean) => void }): ReactElement {
  const edits = useQuery(postMortemEditsQuery(incidentId));
  const unsaved = useRef(false);
  const [warned, setWarned] = useState(false);
  return (
    <Dialog
      open
      title="Post-mortem"
      description={DESCRIPTION}
      onOpenChange={(open) => {
        // Escape is easy to press by accident, and unsaved text exists nowhere else.
        if (!open && unsaved.current && !warned) setWarned(true);
        else onOpenChange(open);
      }}
    >
      <Async query={edits} label="Loading post-mortem">
        {(kept) => <Written incidentId={incidentId} kept={kept} onUnsaved={(is) => void (unsaved.current = is)} />}
      </Async>
      {warned && (
        <p role="alert" className={styles["conflict"]}>
          Your edits are not saved. Save them, or close again to discard them.
        </p>
      )}
    </Dialog>
  );
}

function Written({ incidentId, kept, onUnsaved }: { incidentId: number; kept: PostMortem; onUnsaved: (is: boolean) => void }): ReactElement {
  const fromData = useQuery({ ...postMortemQuery(incidentId), enabled: kept.content === null });
  if (kept.content !== null) return <PostMortemEditor incidentId={incidentId} kept={kept} content={kept.content} onUnsaved={onUnsaved} />;
  return (
    <Async query={fromData} label="Generating post-mortem">
      {(content) => <PostMortemEditor incidentId={incidentId} kept={kept} content={content} onUnsaved={onUnsaved} />}
    </Async>
  );
}
