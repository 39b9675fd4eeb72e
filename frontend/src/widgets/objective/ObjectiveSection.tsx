import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useState, type ReactElement } from "react";

import { objectiveQuery } from "@/api/objectives";
import { ActionButton } from "@/ui/ActionButton";
import { Section } from "@/ui/Section";
import { Async } from "@/widgets/Async";
import { useRefusal } from "@/widgets/useRefusal";

import styles from "./Objective.module.css";
import { ObjectiveInEffect } from "./ObjectiveInEffect";

const ObjectiveDialog = lazy(async () => ({ default: (await import("./ObjectiveDialog")).ObjectiveDialog }));

/** The objective of a server or container, on its page and on its incidents' pages. */
export function ObjectiveSection({ resourceId, name }: { resourceId: number; name: string }): ReactElement {
  const query = useQuery(objectiveQuery(resourceId));
  const refusal = useRefusal("resources:write");
  const [open, setOpen] = useState(false);
  return (
    <Section title="Latency objective" note="Decides which answers are slow.">
      <Async query={query} label="Loading objective">
        {(objective) => (
          <>
            <ObjectiveInEffect objective={objective} />
            <p className={styles["change"]}>
              <ActionButton refusal={refusal} onClick={() => setOpen(true)}>
                {objective.own ? "Change objective" : "Set objective"}
              </ActionButton>
            </p>
          </>
        )}
      </Async>
      <Suspense>{open && <ObjectiveDialog resourceId={resourceId} name={name} open onOpenChange={setOpen} />}</Suspense>
    </Section>
  );
}
