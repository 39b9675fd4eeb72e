import type { ReactElement } from "react";

import type { Schemas } from "@/api/client";
import { CodeBlock } from "@/ui/CodeBlock";

import { Prose } from "./Prose";
import { References } from "./References";
import styles from "./FixDetail.module.css";

/** The patch, what to mind, how to check that it helped, and the way back. */
export function FixDetail({ fix }: { fix: Schemas["Fix"] }): ReactElement {
  return (
    <div className={styles["detail"]}>
      {fix.patches.length > 0 && (
        <div className={styles["patches"]}>
          {fix.patches.map((patch) => (
            <CodeBlock key={patch.label} text={patch.text} label={patch.label} language={patch.language} />
          ))}
        </div>
      )}
      <dl className={styles["notes"]}>
        {fix.precondition !== null && (
          <div>
            <dt>Only if</dt>
            <dd>
              <Prose text={fix.precondition} />
            </dd>
          </div>
        )}
        {fix.caveats.length > 0 && (
          <div>
            <dt>Mind</dt>
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
          <dt>Check</dt>
          <dd>
            <Prose text={fix.verify} />
          </dd>
        </div>
        <div>
          <dt>Undo</dt>
          <dd>{isCommand(fix.undo) ? <CodeBlock text={fix.undo} label="Back to how it was" language="shell" /> : <Prose text={fix.undo} />}</dd>
        </div>
        {fix.references.length > 0 && (
          <div>
            <dt>Read</dt>
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
