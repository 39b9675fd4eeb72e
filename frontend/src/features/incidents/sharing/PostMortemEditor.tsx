import { useEffect, useState, type ReactElement } from "react";

import { ApiError } from "@/api/problem";
import { readPostMortem, useDiscardPostMortem, useKeepPostMortem, type PostMortem } from "@/api/sharing";
import { download } from "@/lib/download";
import { ActionButton } from "@/ui/ActionButton";
import { Button } from "@/ui/Button";
import { CopyButton } from "@/ui/CopyButton";
import { DialogActions } from "@/ui/Dialog";
import { Time } from "@/ui/Time";
import { useToast } from "@/ui/Toast";
import { useRefusal } from "@/widgets/useRefusal";
import { useTellError } from "@/widgets/useTellError";

import styles from "./Sharing.module.css";

/** A text and the version it is based on. */
interface Base {
  readonly version: number;
  readonly content: string;
  readonly by: string | null;
  readonly at: string | null;
}

export interface PostMortemEditorProps {
  incidentId: number;
  kept: PostMortem;
  /** The saved text, or the one from the data. */
  content: string;
  onUnsaved: (is: boolean) => void;
}

const baseOf = ({ version, edited_by: by, edited_at: at }: PostMortem, content: string): Base => ({ version, content, by, at });

export function PostMortemEditor({ incidentId, kept, content, onUnsaved }: PostMortemEditorProps): ReactElement {
  const toast = useToast();
  const tell = useTellError();
  const keep = useKeepPostMortem(incidentId);
  const discard = useDiscardPostMortem(incidentId);
  const [base, setBase] = useState(() => baseOf(kept, content));
  const [text, setText] = useState(content);
  const [theirs, setTheirs] = useState<Base | null>(null);
  const isEdited = text !== base.content;
  useEffect(() => onUnsaved(isEdited), [onUnsaved, isEdited]);
  const refusal = useRefusal("incidents:write");

  // Bypasses the cache: the text in the open dialog must not change while it is edited.
  const newest = async (): Promise<Base> => {
    const now = await readPostMortem(incidentId);
    return baseOf(now, now.content);
  };
  const refused = (error: Error): void => {
    if (error instanceof ApiError && error.status === 409) newest().then(setTheirs, tell);
    else tell(error);
  };
  const take = (next: Base): void => {
    setBase(next);
    setText(next.content);
    setTheirs(null);
  };
  const save = (): void => {
    keep.mutate(
      { content: text, version: base.version },
      {
        onSuccess: (saved) => {
          setBase(baseOf(saved, text));
          toast({ text: "Post-mortem saved" });
        },
        onError: refused,
      },
    );
  };
  const toData = (): void => {
    discard.mutate(base.version, {
      onSuccess: () => {
        newest().then(take, tell);
        toast({ text: "Saved edits discarded" });
      },
      onError: refused,
    });
  };
  return (
    <>
      <p className={styles["state"]} role="status">
        {base.at === null ? (
          "Written from the data. No edits are saved."
        ) : (
          <>
            Saved by {base.by}, <Time at={base.at} style="clock" />
          </>
        )}
        {refusal !== null && ` ${refusal}`}
      </p>
      <textarea className={styles["text"]} aria-label="Post-mortem in Markdown" spellCheck rows={theirs === null ? 18 : 10} value={text} onChange={(event) => setText(event.target.value)} />
      {theirs !== null && (
        <div role="alert" className={styles["conflict"]}>
          <p>
            {theirs.at === null ? "The saved edits were discarded" : `${theirs.by ?? "Another member"} saved another version`} after you opened this. Your text is not lost: copy what you need from the saved text into yours, then save.
          </p>
          <textarea className={styles["text"]} aria-label="Saved text" readOnly rows={8} value={theirs.content} />
          <p className={styles["choices"]}>
            <Button
              onClick={() => {
                setBase(theirs);
                setTheirs(null);
              }}
            >
              Keep mine
            </Button>
            <Button onClick={() => take(theirs)}>Take theirs</Button>
          </p>
        </div>
      )}
      <DialogActions>
        {base.version > 0 && (
          <ActionButton kind="quiet" refusal={refusal} disabled={discard.isPending || theirs !== null} onClick={toData}>
            Discard saved edits
          </ActionButton>
        )}
        <Button kind="quiet" disabled={!isEdited} onClick={() => setText(base.content)}>
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
        <CopyButton text={text} label="Copy Markdown" />
        <ActionButton kind="primary" refusal={refusal} disabled={!isEdited || text.trim() === "" || keep.isPending || theirs !== null} onClick={save}>
          Save edits
        </ActionButton>
      </DialogActions>
    </>
  );
}
