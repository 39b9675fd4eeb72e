/** Loading, empty, and error states of a page. */

import { useEffect, useState, type ReactElement, type ReactNode } from "react";

import { Button } from "./Button";
import styles from "./states.module.css";

/** Gray lines in place of text, with the final height so that the layout does not shift. Invisible for the first 200 ms. */
export function Skeleton({ lines = 3, height = 20, label = "Loading" }: { lines?: number; height?: number; label?: string }): ReactElement {
  const visible = useDelayed(200);
  return (
    <div className={styles["skeleton"]} data-loading data-visible={visible} role="status" aria-label={label}>
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} style={{ height, width: `${92 - ((index * 17) % 40)}%` }} />
      ))}
    </div>
  );
}

/** For a part that might turn out empty: keeps the content below it hidden, as a skeleton does, but takes no room itself. */
export function Pending(): ReactElement {
  return <span data-loading />;
}

export function EmptyState({ title, children, action }: { title: string; children: ReactNode; action?: ReactNode }): ReactElement {
  return (
    <div className={styles["empty"]}>
      <h2>{title}</h2>
      <div className={styles["body"]}>{children}</div>
      {action !== undefined && <div className={styles["action"]}>{action}</div>}
    </div>
  );
}

export interface ErrorStateProps {
  title: string;
  /** What failed and what to do, from the server's problem document if there is one. */
  detail: string;
  onRetry?: () => void;
  /** "h1" if the error is all that the page shows. */
  heading?: "h1" | "h2";
}

export function ErrorState({ title, detail, onRetry, heading: Heading = "h2" }: ErrorStateProps): ReactElement {
  return (
    <div className={styles["error"]} role="alert">
      <Heading>{title}</Heading>
      <p className={styles["body"]}>{detail}</p>
      {onRetry !== undefined && (
        <div className={styles["action"]}>
          <Button onClick={onRetry}>Try again</Button>
        </div>
      )}
    </div>
  );
}

function useDelayed(ms: number): boolean {
  const [passed, setPassed] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setPassed(true), ms);
    return () => clearTimeout(timer);
  }, [ms]);
  return passed;
}
