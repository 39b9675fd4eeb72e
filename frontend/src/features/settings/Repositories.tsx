import { useQuery } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";

import { repositoriesQuery, useCreateRepository } from "@/api/pulls";
import { Section } from "@/ui/Section";
import { useToast } from "@/ui/Toast";
import { Async } from "@/widgets/Async";
import { useRefusal } from "@/widgets/useRefusal";

import { RepositoryForm } from "./RepositoryForm";
import { RepositoryRow } from "./RepositoryRow";
import { newRepository, requestOf } from "./repositoryForm";
import styles from "./Settings.module.css";

/** Repositories with the files of workloads, so that fixes can become pull requests. */
export function Repositories(): ReactElement {
  const repositories = useQuery(repositoriesQuery());
  const refusal = useRefusal("repositories:write");
  return (
    <>
      <Section title="Repositories" note="Fixes for workloads with a file listed here can be opened as pull requests. The first repository that matches a workload is used.">
        {refusal !== null && <p className={styles["dim"]}>{refusal}</p>}
        <Async query={repositories} label="Loading repositories">
          {(all) =>
            all.length === 0 ? (
              <p className={styles["dim"]}>No repositories yet. {refusal === null && "Add one below."}</p>
            ) : (
              <ul aria-label="Repositories">
                {all.map((one) => (
                  <RepositoryRow key={one.id} repository={one} refusal={refusal} />
                ))}
              </ul>
            )
          }
        </Async>
      </Section>
      {refusal === null && <Add />}
    </>
  );
}

function Add(): ReactElement {
  const create = useCreateRepository();
  const toast = useToast();
  const [form, setForm] = useState(newRepository);
  return (
    <Section title="Add repository" note="The token is encrypted and never shown again.">
      <RepositoryForm
        label="Add repository"
        form={form}
        onChange={setForm}
        busy={create.isPending}
        error={create.error}
        onSubmit={() =>
          create.mutate(requestOf(form), {
            onSuccess: ({ repository }) => {
              toast({ text: `${repository} added` });
              setForm(newRepository());
            },
          })
        }
      />
    </Section>
  );
}
