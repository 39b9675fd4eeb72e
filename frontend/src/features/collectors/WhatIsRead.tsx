import { useQuery } from "@tanstack/react-query";
import { useId, type ReactElement } from "react";

import { collectionQuery, useSwitchOff, type Collection } from "@/api/collection";
import { Section } from "@/ui/Section";
import { Time } from "@/ui/Time";
import { useToast } from "@/ui/Toast";
import { Async } from "@/widgets/Async";
import { useRefusal } from "@/widgets/useRefusal";
import { useTellError } from "@/widgets/useTellError";

import styles from "./Collectors.module.css";

/** A switch for each kind of traffic data that collectors read, for the whole organization. */
export function WhatIsRead(): ReactElement {
  const collection = useQuery(collectionQuery());
  const refusal = useRefusal("organizations:write");
  return (
    <div className={styles["tokens"]}>
      <Section
        title="What collectors read"
        note="For all collectors of the organization. Data that is off is dropped on arrival within seconds, and collectors stop reading it. A collector's own configuration can turn off more."
      >
        <Async query={collection} label="Loading switches">
          {(found) => (
            <>
              {refusal !== null && <p className={styles["numbers"]}>{refusal}</p>}
              <Switches collection={found} disabled={refusal !== null} />
              {found.changed_by !== null && found.changed_at !== null && (
                <p className={styles["numbers"]}>
                  Changed by {found.changed_by} <Time at={found.changed_at} />
                </p>
              )}
            </>
          )}
        </Async>
      </Section>
    </div>
  );
}

function Switches({ collection: { switches }, disabled }: { collection: Collection; disabled: boolean }): ReactElement {
  const { mutate, isPending, variables } = useSwitchOff();
  const toast = useToast();
  const tell = useTellError();
  const off = switches.filter((one) => one.off).map(({ id }) => id);
  // Shows the pending state while it is being saved.
  const shown = isPending ? variables : off;
  const change = (wanted: readonly string[], text: string, undo?: readonly string[]): void =>
    mutate(wanted, {
      onSuccess: () => toast({ text, ...(undo === undefined ? {} : { undo: () => change(undo, "Change undone") }) }),
      onError: tell,
    });
  return (
    <ul className={styles["switches"]}>
      {switches.map(({ id, title, stops }) => {
        const isOff = shown.includes(id);
        // Part of a source that is switched off.
        const [source] = id.split(":");
        const covered = source !== id && shown.some((one) => one === source);
        return (
          <Switch
            key={id}
            title={title}
            id={id}
            on={!isOff && !covered}
            note={covered ? "Off with its source." : isOff ? stops : `If off: ${stops}`}
            disabled={disabled || covered || isPending}
            onChange={() => change(isOff ? off.filter((one) => one !== id) : [...off, id], isOff ? `${title} switched on` : `${title} switched off`, off)}
          />
        );
      })}
    </ul>
  );
}

interface SwitchProps {
  id: string;
  title: string;
  note: string;
  on: boolean;
  disabled: boolean;
  onChange: () => void;
}

function Switch({ id, title, note, on, disabled, onChange }: SwitchProps): ReactElement {
  const describedBy = useId();
  return (
    <li>
      <label>
        {/* Not disabled: the focus would be lost while a change is saved. */}
        <input
          type="checkbox"
          role="switch"
          checked={on}
          aria-disabled={disabled}
          aria-describedby={describedBy}
          onChange={() => {
            if (!disabled) onChange();
          }}
        />
        <span className={styles["title"]}>{title}</span>
        <span className={styles["onOff"]} aria-hidden="true">
          {on ? "on" : "off"}
        </span>
      </label>
      <p id={describedBy} className={styles["numbers"]}>
        {note} <code>{id}</code>
      </p>
    </li>
  );
}
