import type { ReactElement } from "react";

/** Sources: links if they are URLs, otherwise text. */
export function References({ references }: { references: readonly string[] }): ReactElement {
  return (
    <ul>
      {references.map((reference) => (
        <li key={reference} style={{ overflowWrap: "anywhere" }}>
          {/^https?:\/\//.test(reference) ? (
            <a href={reference} target="_blank" rel="noreferrer">
              {reference.replace(/^https?:\/\/(www\.)?/, "")}
            </a>
          ) : (
            reference
          )}
        </li>
      ))}
    </ul>
  );
}
