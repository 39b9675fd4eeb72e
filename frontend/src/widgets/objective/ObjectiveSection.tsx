import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useState, type ReactElement } from "react";

import { meQuery } from "@/api/me";
import { objectiveQuery } from "@/api/objectives";
import { Button } from "@/ui/Button";
import { Section } from "@/ui/Section";
import { Async } from "@/widgets/Async";

import styles from "./Objective.module.css";
import { ObjectiveInEffect } from "./ObjectiveInEffect";

const ObjectiveDialog = lazy(async () => ({ default: (await import("./ObjectiveDialog")).ObjectiveDialog }));

/** The objective of a server or container, on its page and on its incidents' pages. */
export function ObjectiveSection({ resourceId, name }: { resourceId: number; name: string }): ReactElement {
  const query = useQuery(objectiveQuery(resourceId));
  const { data: me } = useQuery(meQuery());
  const [open, setOpen] = useState(false);
  return (
    <Section title="Latency objective" note="Decides which answers are slow.">
      <Async query={query} label="Loading objective">
        {(objective) => (
          <>
            <ObjectiveInEffect objective={objective} />
            {me?.scopes.includes("resources:write") === true && (
              <p className={styles["change"]}>
                <Button onClick={() => setOpen(true)}>{objective.own ? "Change objective" : "Set objective"}</Button>
              </p>
            )}
          </>
        )}
      </Async>
      <Suspense>{open && <ObjectiveDialog resourceId={resourceId} name={name} open onOpenChange={setOpen} />}</Suspense>
    </Section>
  );
}
