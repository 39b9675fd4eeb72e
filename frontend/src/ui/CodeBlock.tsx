import type { ReactElement } from "react";

import styles from "./CodeBlock.module.css";
import { CopyButton } from "./CopyButton";

export interface CodeBlockProps {
  text: string;
  label: string;
  /** Lines that start with + or - are marked as added and removed. */
  language?: string;
}

export function CodeBlock({ text, label, language }: CodeBlockProps): ReactElement {
  return (
    <figure className={styles["figure"]}>
      <figcaption className={styles["caption"]}>
        <span>{label}</span>
        <CopyButton text={text} kind="quiet" aria-label={`Copy ${label}`} />
      </figcaption>
      {/* A scrollable region must be reachable by keyboard. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre className={styles["code"]} data-wrap={language === "shell"} tabIndex={0} role="region" aria-label={label}>
        <code>{language === "diff" ? <DiffLines text={text} /> : text}</code>
      </pre>
    </figure>
  );
}

function DiffLines({ text }: { text: string }): ReactElement[] {
  return text.split("\n").map((line, index) => (
    <span key={index} className={line.startsWith("+") ? styles["added"] : line.startsWith("-") ? styles["removed"] : undefined}>
      {line}
      {"\n"}
    </span>
  ));
}
