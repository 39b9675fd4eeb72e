import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactElement, type RefObject, type SubmitEvent } from "react";

import { explain } from "@/api/problem";
import { saveView, viewsQuery } from "@/api/views";
import { Button } from "@/ui/Button";
import { Dialog, DialogActions } from "@/ui/Dialog";
import { Field } from "@/ui/Field";
import { useToast } from "@/ui/Toast";

import styles from "./Views.module.css";

export interface SaveViewProps {
  open: boolean;
  onClose: () => void;
  returnTo: RefObject<HTMLElement | null>;
  page: string;
  search: string;
  /** Why the member cannot share views; null: allowed. */
  shareRefusal: string | null;
}

export function SaveView({ open, onClose, returnTo, ...form }: SaveViewProps): ReactElement {
  return (
    <Dialog open={open} onOpenChange={onClose} returnTo={returnTo} title="Save this view" description="Keeps the filters, the order, and the window of this page.">
      {open && <Form onClose={onClose} {...form} />}
    </Dialog>
  );
}

function Form({ onClose, page, search, shareRefusal }: Pick<SaveViewProps, "onClose" | "page" | "search" | "shareRefusal">): ReactElement {
  const client = useQueryClient();
  const toast = useToast();
  const [name, setName] = useState("");
  const [isShared, setShared] = useState(false);
  const save = useMutation({
    mutationFn: () => saveView(page, { name: name.trim(), search, shared: isShared }),
    onSuccess: () => {
      toast({ text: "View saved" });
      onClose();
    },
    onSettled: () => client.invalidateQueries({ queryKey: viewsQuery(page).queryKey }),
  });
  const problem = save.error === null ? null : explain(save.error);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (name.trim() !== "") save.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Field label="Name" error={problem === null ? null : `${problem.title}. ${problem.detail}`}>
        {(attributes) => <input {...attributes} maxLength={100} value={name} onChange={(event) => setName(event.target.value)} />}
      </Field>
      {shareRefusal === null ? (
        <label className={styles["share"]}>
          <input type="checkbox" checked={isShared} onChange={(event) => setShared(event.target.checked)} /> Share with all members
        </label>
      ) : (
        <p className={styles["share"]}>Only you see it. {shareRefusal}</p>
      )}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" kind="primary" disabled={save.isPending || name.trim() === ""}>
          Save view
        </Button>
      </DialogActions>
    </form>
  );
}
