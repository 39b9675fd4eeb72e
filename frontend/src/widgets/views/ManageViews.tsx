import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactElement, type RefObject } from "react";

import { changeView, deleteView, viewsQuery, type SavedView } from "@/api/views";
import { Button } from "@/ui/Button";
import { Dialog, DialogActions } from "@/ui/Dialog";
import { useToast } from "@/ui/Toast";
import { useTellError } from "@/widgets/useTellError";

import styles from "./Views.module.css";

export interface ManageViewsProps {
  open: boolean;
  onClose: () => void;
  returnTo: RefObject<HTMLElement | null>;
  page: string;
  views: readonly SavedView[];
  mayShare: boolean;
}

export function ManageViews({ open, onClose, returnTo, page, views, mayShare }: ManageViewsProps): ReactElement {
  return (
    <Dialog open={open} onOpenChange={onClose} returnTo={returnTo} title="Views of this page" description="Views that you saved. Admins can also change shared views.">
      <ul className={styles["views"]} aria-label="Views">
        {views.map((view) => (
          <Row key={view.id} view={view} page={page} mayShare={mayShare} />
        ))}
      </ul>
      {views.length === 0 && <p>No views left.</p>}
      <DialogActions>
        <Button onClick={onClose}>Close</Button>
      </DialogActions>
    </Dialog>
  );
}

function Row({ view, page, mayShare }: { view: SavedView; page: string; mayShare: boolean }): ReactElement {
  const client = useQueryClient();
  const tell = useTellError();
  const toast = useToast();
  const [name, setName] = useState(view.name);
  const onSettled = (): Promise<void> => client.invalidateQueries({ queryKey: viewsQuery(page).queryKey });
  const change = useMutation({ mutationFn: (next: { name: string; shared: boolean }) => changeView(view.id, { search: view.search, ...next }), onError: tell, onSettled });
  const remove = useMutation({ mutationFn: () => deleteView(view.id), onSuccess: () => toast({ text: `View deleted: ${view.name}` }), onError: tell, onSettled });
  const isRenamed = name.trim() !== "" && name.trim() !== view.name;
  return (
    <li>
      <input type="text" className={styles["name"]} aria-label={`Name of ${view.name}`} maxLength={100} value={name} onChange={(event) => setName(event.target.value)} />
      <Button disabled={!isRenamed || change.isPending} onClick={() => change.mutate({ name: name.trim(), shared: view.shared })} aria-label={`Rename ${view.name}`}>
        Rename
      </Button>
      {mayShare && (
        <label>
          <input type="checkbox" aria-label={`Share ${view.name}`} checked={view.shared} disabled={change.isPending} onChange={(event) => change.mutate({ name: view.name, shared: event.target.checked })} /> Shared
        </label>
      )}
      <Button disabled={remove.isPending} onClick={() => remove.mutate()} aria-label={`Delete ${view.name}`}>
        Delete
      </Button>
      {!view.mine && <span>Saved by {view.owner ?? "a former member"}</span>}
    </li>
  );
}
