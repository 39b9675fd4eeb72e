import { useQuery } from "@tanstack/react-query";
import { useId, useState, type ReactElement, type SyntheticEvent } from "react";

import { objectiveQuery, useSetObjective, type Objective } from "@/api/objectives";
import { explain } from "@/api/problem";
import { Button } from "@/ui/Button";
import { Dialog, DialogActions } from "@/ui/Dialog";
import { useToast } from "@/ui/Toast";
import { Async } from "@/widgets/Async";
import { useRefusal } from "@/widgets/useRefusal";

import styles from "./Objective.module.css";
import { ObjectiveInEffect } from "./ObjectiveInEffect";
import { draftOf, problemOf, QUANTILES, readable, shareOf, UNITS, writtenOf, type Draft } from "./words";

export interface ObjectiveDialogProps {
  resourceId: number;
  name: string;
  open: boolean;
  onOpenChange: (open: boolean) => void;
}

/** Sets, changes, and removes the latency objective of a server, or of all servers of a container's workload. */
export function ObjectiveDialog({ resourceId, name, open, onOpenChange }: ObjectiveDialogProps): ReactElement {
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title={`Latency objective of ${name}`}>
      <Content resourceId={resourceId} onDone={() => onOpenChange(false)} />
    </Dialog>
  );
}

function Content({ resourceId, onDone }: { resourceId: number; onDone: () => void }): ReactElement {
  const query = useQuery(objectiveQuery(resourceId));
  const refusal = useRefusal("resources:write");
  return (
    <Async query={query} label="Loading objective">
      {(objective) =>
        refusal === null ? (
          <Form objective={objective} onDone={onDone} />
        ) : (
          <>
            <ObjectiveInEffect objective={objective} />
            <p className={styles["hint"]}>{refusal}</p>
            <DialogActions>
              <Button onClick={onDone}>Close</Button>
            </DialogActions>
          </>
        )
      }
    </Async>
  );
}

function Form({ objective, onDone }: { objective: Objective; onDone: () => void }): ReactElement {
  const id = useId();
  const toast = useToast();
  const change = useSetObjective(objective.resource_id);
  const [draft, setDraft] = useState<Draft>(() => draftOf(objective.objective));
  const [tried, setTried] = useState(false);
  const problem = problemOf(draft);
  const refused = change.error === null ? null : explain(change.error);
  const shown = tried && problem !== null ? problem : refused === null ? null : `${refused.title}. ${refused.detail}`;
  const save = (written: string | null): void =>
    change.mutate(written, {
      onSuccess: (after) => {
        toast({ text: written === null ? `Objective removed${after.objective === null ? "" : `; ${readable(after.objective)} is in effect`}` : `Objective set to ${readable(written)}` });
        onDone();
      },
    });
  const submit = (event: SyntheticEvent): void => {
    event.preventDefault();
    setTried(true);
    if (problem === null) save(writtenOf(draft));
  };
  return (
    <form className={styles["form"]} onSubmit={submit} noValidate>
      <ObjectiveInEffect objective={objective} />
      <fieldset className={styles["line"]}>
        <legend>{objective.own ? "Change it" : "Set an objective"}</legend>
        <select className={styles["control"]} aria-label="Share of the answers" value={draft.quantile} onChange={(event) => setDraft({ ...draft, quantile: event.target.value as Draft["quantile"] })}>
          {QUANTILES.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
        <span aria-hidden="true">&lt;</span>
        <input
          className={styles["control"]}
          aria-label="Take less than"
          aria-invalid={shown !== null}
          aria-describedby={`${id}-hint${shown === null ? "" : ` ${id}-error`}`}
          inputMode="decimal"
          autoComplete="off"
          placeholder="50"
          value={draft.amount}
          onChange={(event) => setDraft({ ...draft, amount: event.target.value })}
        />
        <select className={styles["control"]} aria-label="Unit" value={draft.unit} onChange={(event) => setDraft({ ...draft, unit: event.target.value as Draft["unit"] })}>
          {UNITS.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </fieldset>
      {shown !== null && (
        <p id={`${id}-error`} className={styles["hot"]} role="alert">
          {shown}
        </p>
      )}
      <p id={`${id}-hint`} className={styles["hint"]}>
        {shareOf(draft.quantile)} of the answers take less than this. Applies to {objective.applies_to}.
      </p>
      <DialogActions>
        {objective.own && (
          <Button kind="danger" className={styles["remove"]} onClick={() => save(null)} disabled={change.isPending}>
            Remove objective
          </Button>
        )}
        <Button onClick={onDone}>Cancel</Button>
        <Button type="submit" kind="primary" disabled={change.isPending}>
          {change.isPending ? "Saving…" : objective.own ? "Change objective" : "Set objective"}
        </Button>
      </DialogActions>
    </form>
  );
}
