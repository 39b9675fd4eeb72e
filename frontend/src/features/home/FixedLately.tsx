import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";

import { fixesQuery } from "@/api/overview";
import { Section } from "@/ui/Section";
import { AppliedFixes } from "@/widgets/AppliedFixes";
import { Async } from "@/widgets/Async";

import styles from "./Home.module.css";

const SHOWN = 4;

/** Fixes that helped, with measurements before and after. */
export function FixedLately(): ReactElement {
  const { data, isError, error, refetch } = useInfiniteQuery(fixesQuery("verified"));
  const fixes = data?.pages.flatMap((page) => page.items);
  return (
    <Section title="Fixed" note="Verified fixes, measured before and after under comparable load.">
      <Async query={{ data: fixes, isError, error, refetch }} label="Loading fixes">
        {(all) => (
          <>
            {all.length === 0 ? <p className={styles["none"]}>No fix has been verified yet.</p> : <AppliedFixes fixes={all.slice(0, SHOWN)} />}
            <p className={styles["more"]}>
              <Link to="/fixes">All fixes, including those that did not help</Link>
            </p>
          </>
        )}
      </Async>
    </Section>
  );
}
