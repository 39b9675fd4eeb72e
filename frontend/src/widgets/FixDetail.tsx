import type { ReactElement, ReactNode } from "react";

import type { Schemas } from "@/api/client";
import { CodeBlock } from "@/ui/CodeBlock";

import styles from "./FixDetail.module.css";
import { FixPatches } from "./FixPatches";
import { Prose } from "./Prose";
import { References } from "./References";

interface FixDetailProps {
  fix: Schemas["Fix"];
  landing?: Schemas["FixLanding"] | undefined;
  /** The pull request's target, or why there can be none. */
  pull?: ReactNode;
  /** The same change as files; absent if Kustomize cannot make it. */
  kustomize?: readonly Schemas["PatchFile"][] | undefined;
}

/** The patch, caveats, verification, and undo. */
export function FixDetail({ fix, landing, pull, kustomize }: FixDetailProps): ReactElement {
  return (
    <div className={styles["detail"]}>
      {fix.patches.length > 0 && <FixPatches patches={fix.patches} kustomize={kustomize} />}
      <dl className={styles["notes"]}>
        {fix.precondition !== null && (
          <div>
            <dt>Precondition</dt>
            <dd>
              <Prose text={fix.precondition} />
            </dd>
          </div>
        )}
        {fix.caveats.length > 0 && (
          <div>
            <dt>Caveats</dt>
            <dd>
              <ul>
                {fix.caveats.map((caveat) => (
                  <li key={caveat}>
                    <Prose text={caveat} />
                  </li>
                ))}
              </ul>
            </dd>
          </div>
        )}
        <div>
          <dt>Verify</dt>
          <dd>
            <Prose text={fix.verify} />
          </dd>
        </div>
        {pull !== undefined && (
          <div>
            <dt>Pull request</dt>
            <dd>{pull}</dd>
          </div>
        )}
        {landing !== undefined && (
          <div>
            <dt>{landing.seen ? "How it is detected" : "Not detected automatically"}</dt>
            <dd>
              <Prose text={landing.text} />{!landing.seen && " Mark it as applied to have it measured."} Measured by: {landing.measures.join(", ")}.
            </dd>
          </div>
        )}
        <div>
          <dt>Undo</dt>
          <dd>{isCommand(fix.undo) ? <CodeBlock text={fix.undo} label="Command" language="shell" /> : <Prose text={fix.undo} />}</dd>
        </div>
        {fix.references.length > 0 && (
          <div>
            <dt>References</dt>
            <dd>
              <References references={fix.references} />
            </dd>
          </div>
        )}
      </dl>
    </div>
  );
}

const isCommand = (text: string): boolean => /^(kubectl|helm|systemctl|docker|crictl|echo|printf|sysctl|sudo) /.test(text);
