import { useState, type ReactElement } from "react";

import type { Schemas } from "@/api/client";
import { Choice } from "@/ui/Choice";
import { CodeBlock } from "@/ui/CodeBlock";

import styles from "./FixDetail.module.css";
import { Prose } from "./Prose";

interface FixPatchesProps {
  patches: readonly Schemas["Patch"][];
  /** The same change as files. */
  kustomize?: readonly Schemas["PatchFile"][] | undefined;
}

const FORMS = [
  ["kubectl", "kubectl"],
  ["kustomize", "Kustomize"],
] as const;

/** A fix's patches, in the forms that it has. */
export function FixPatches({ patches, kustomize }: FixPatchesProps): ReactElement {
  const [form, setForm] = useState<"kubectl" | "kustomize">("kubectl");
  if (kustomize === undefined) return <Commands patches={patches} />;
  return (
    <div className={styles["patches"]}>
      <Choice label="Form of the patch" options={FORMS} value={form} onChange={setForm} />
      {form === "kubectl" ? <Commands patches={patches} /> : <Files files={kustomize} />}
    </div>
  );
}

function Commands({ patches }: { patches: readonly Schemas["Patch"][] }): ReactElement {
  return (
    <div className={styles["patches"]}>
      {patches.map((patch) => (
        <CodeBlock key={patch.label} text={patch.text} label={patch.label} language={patch.language} />
      ))}
    </div>
  );
}

function Files({ files }: { files: readonly Schemas["PatchFile"][] }): ReactElement {
  return (
    <div className={styles["patches"]}>
      {files.map(({ path, text }) => (
        <CodeBlock key={path} text={text} label={path} language="yaml" />
      ))}
      <p>
        <Prose text="Add the last lines to the `kustomization.yaml` of the folder. Kustomize finds the workload by kind, name, and namespace: if its base sets no namespace, remove `metadata.namespace` from the patch." />
      </p>
    </div>
  );
}
