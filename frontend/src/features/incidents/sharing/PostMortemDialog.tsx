import { useQuery } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";

import { postMortemQuery } from "@/api/sharing";
import { download } from "@/lib/download";
import { Button } from "@/ui/Button";
import { CopyButton } from "@/ui/CopyButton";
import { Dialog, DialogActions } from "@/ui/Dialog";
import { useToast } from "@/ui/Toast";
import { Async } from "@/widgets/Async";

import styles from "./Sharing.module.css";

/** The incident as Markdown, to change before it is copied. */
export function PostMortemDialog({ incidentId, onOpenChange }: { incidentId: number; onOpenChange: (open: boolean) => void }): ReactElement {
  const written = useQuery(postMortemQuery(incidentId));
  return (
    <Dialog
      open
      onOpenChange={onOpenChange}
      title="Post-mortem"
      description="Markdown from what was measured and done. Edit it here, then copy or download it: edits are not stored, and are gone when this closes."
    >
      <Async query={written} label="Writing post-mortem">
        {(text) => <Editor incidentId={incidentId} written={text} />}
      </Async>
    </Dialog>
  );
}

function Editor({ incidentId, written }: { incidentId: number; written: string }): ReactElement {
  const [text, setText] = useState(written);
  const toast = useToast();
  return (
    <>
      <textarea className={styles["text"]} aria-label="Post-mortem in Markdown" spellCheck rows={20} value={text} onChange={(event) => setText(event.target.value)} />
      <DialogActions>
        <Button kind="quiet" disabled={text === written} onClick={() => setText(written)}>
          Undo edits
        </Button>
        <Button
          onClick={() => {
            download(`post-mortem-${incidentId}.md`, new Blob([text], { type: "text/markdown" }));
            toast({ text: "Post-mortem downloaded" });
          }}
        >
          Download
        </Button>
        <CopyButton kind="primary" text={text} label="Copy Markdown" />
      </DialogActions>
    </>
  );
}
