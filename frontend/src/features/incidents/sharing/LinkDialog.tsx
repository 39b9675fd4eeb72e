import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";

import { incidentLinksQuery, sharingPolicyQuery, useCreateLink } from "@/api/sharing";
import { formatView } from "@/lib/search";
import type { TimeView } from "@/lib/timeView";
import { ActionButton } from "@/ui/ActionButton";
import { Dialog } from "@/ui/Dialog";
import { Field } from "@/ui/Field";
import { Async } from "@/widgets/Async";
import { LinkTable } from "@/widgets/LinkTable";
import { SecretOnce } from "@/widgets/SecretOnce";
import { useRefusal } from "@/widgets/useRefusal";
import { useTellError } from "@/widgets/useTellError";

import styles from "./Sharing.module.css";

const DAYS: readonly (readonly [number, string])[] = [[1, "in 1 day"], [7, "in 7 days"], [30, "in 30 days"], [90, "in 90 days"]];

export interface LinkDialogProps {
  incidentId: number;
  /** The timeline view that the link opens. */
  view: TimeView;
  selection: TimeView | null;
  onOpenChange: (open: boolean) => void;
}

/** Creates read-only links and lists existing ones. */
export function LinkDialog({ incidentId, view, selection, onOpenChange }: LinkDialogProps): ReactElement {
  const links = useQuery(incidentLinksQuery(incidentId));
  const policy = useQuery(sharingPolicyQuery());
  const create = useCreateLink(incidentId);
  const tell = useTellError();
  const [days, setDays] = useState(7);
  const refusal = useRefusal("links:write");
  const mayAllow = useRefusal("organizations:write") === null;
  const forbidden = policy.data?.links_allowed === false;
  return (
    <Dialog
      open
      onOpenChange={onOpenChange}
      title="Read-only link"
      description="Anyone with the link can read this incident without an account: the verdict, timeline, evidence, fixes, and verification, with names of pods, nodes, and lookups. It shows no notes, member names, or anything else."
    >
      {forbidden ? (
        <p className={styles["state"]} role="status">
          This organization does not allow read-only links. {mayAllow ? <Link to="/settings/$section" params={{ section: "links" }}>Allow them in Settings</Link> : "An admin can allow them in Settings."}
        </p>
      ) : (
        <form
          className={styles["new"]}
          onSubmit={(event) => {
            event.preventDefault();
            create.mutate(days, { onError: tell });
          }}
        >
          <Field label="Expires">
            {(attributes) => (
              <select {...attributes} value={days} onChange={(event) => setDays(Number(event.target.value))}>
                {DAYS.map(([value, text]) => (
                  <option key={value} value={value}>
                    {text}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <ActionButton type="submit" kind="primary" refusal={refusal} disabled={create.isPending}>
            Create link
          </ActionButton>
          {refusal !== null && <p className={styles["state"]}>{refusal}</p>}
        </form>
      )}
      {create.data !== undefined && !forbidden && (
        <SecretOnce label="Read-only link" text={atView(create.data.url, view, selection)}>
          It opens the timeline at the zoom of this page.
        </SecretOnce>
      )}
      <h3 className={styles["heading"]}>Links to this incident</h3>
      <Async query={links} label="Loading links">
        {({ items }) => (items.length === 0 ? <p className={styles["state"]}>No links yet.</p> : <LinkTable links={items} refusal={refusal} />)}
      </Async>
    </Dialog>
  );
}

/** The secret stays behind #, where no server sees it. */
function atView(link: string, view: TimeView, selection: TimeView | null): string {
  const url = new URL(link);
  for (const [name, part] of [["view", view], ["sel", selection]] as const) {
    const text = formatView(part);
    if (text !== undefined) url.searchParams.set(name, text);
  }
  return url.toString();
}
