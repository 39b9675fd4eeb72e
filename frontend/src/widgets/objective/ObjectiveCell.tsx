import { useState, type ReactElement } from "react";

import type { ServiceItem } from "@/api/services";
import { microseconds } from "@/lib/format";
import { ActionButton } from "@/ui/ActionButton";
import { useRefusal } from "@/widgets/useRefusal";

import styles from "./Objective.module.css";
import { ObjectiveDialog } from "./ObjectiveDialog";
import { readable } from "./words";

/** The objective of a service, whether it was met in the window, and a button to change it. */
export function ObjectiveCell({ item }: { item: Pick<ServiceItem, "id" | "name" | "objective"> }): ReactElement {
  const [open, setOpen] = useState(false);
  const refusal = useRefusal("resources:write");
  const { objective } = item;
  const text = objective === null ? "Set" : readable(objective.objective);
  return (
    <div className={styles["cell"]}>
      <ActionButton
        kind="quiet"
        // The dialog of one that is set also shows where it comes from.
        refusal={objective === null ? refusal : null}
        onClick={() => setOpen(true)}
        aria-haspopup="dialog"
        aria-label={objective === null ? `Set objective of ${item.name}` : `${text}, objective of ${item.name}`}
      >
        {text}
      </ActionButton>
      {objective !== null && (
        <p data-hot={objective.met === false || undefined}>
          {objective.met === null ? "not measured" : objective.met ? `✓ met: ${microseconds(objective.value_us)}` : `✕ missed: ${microseconds(objective.value_us)}`}
        </p>
      )}
      <ObjectiveDialog resourceId={item.id} name={item.name} open={open} onOpenChange={setOpen} />
    </div>
  );
}
