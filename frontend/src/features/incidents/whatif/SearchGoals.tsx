import { useState, type ReactElement } from "react";

import { useWhatIfSearch, type SearchGoal, type SettingChange, type WhatIfWindow } from "@/api/whatif";
import { explain } from "@/api/problem";
import { plural } from "@/lib/format";
import { Button } from "@/ui/Button";

import { NAMES, valueText } from "./setting";
import styles from "./WhatIf.module.css";

/** The smallest limit, burst, and GOMAXPROCS, and the fewest replicas, that meet a goal. */
export function SearchGoals({ of, onTry }: { of: WhatIfWindow; onTry: (change: SettingChange) => void }): ReactElement {
  const search = useWhatIfSearch(of);
  const [p99Ms, setP99Ms] = useState("5");
  const limitMs = Number(p99Ms);
  const valid = limitMs > 0 && limitMs < 1e6;
  const ask = (goal: SearchGoal): void => search.mutate(goal);
  const results = search.data?.search ?? null;
  return (
    <div className={styles["search"]}>
      <h3>Smallest setting that meets a goal</h3>
      <div className={styles["goals"]}>
        <Button disabled={search.isPending} onClick={() => ask({ metric: "throttled_ms_per_min", at_most: 0 })}>
          No throttling
        </Button>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (valid) ask({ metric: "p99_ms", at_most: limitMs });
          }}
        >
          <Button type="submit" disabled={search.isPending || !valid}>
            p99 under
          </Button>
          <span className={styles["field"]}>
            <input type="number" aria-label="p99 goal in milliseconds" min={0.1} step="any" value={p99Ms} onChange={(event) => setP99Ms(event.target.value)} />
            <span className={styles["unit"]} aria-hidden="true">
              ms
            </span>
          </span>
        </form>
      </div>
      <div role="status">
        {search.isPending && <p className={styles["searching"]}>Searching: each candidate is replayed…</p>}
        {search.isError && (
          <p>
            {explain(search.error).title}. {explain(search.error).detail}
          </p>
        )}
        {results !== null && !search.isPending && (
          <>
            <p className="visually-hidden">{plural(results.length, "result")}</p>
            <ul className={styles["found"]} aria-label="Smallest settings">
              {results.map((result) => (
                <li key={result.parameter}>
                  <strong>{NAMES[result.parameter]}</strong> {result.sentence}
                  {result.value !== null && (
                    <Button kind="quiet" onClick={() => onTry({ [result.parameter]: result.value })}>
                      Try {valueText(result.parameter, result.value)}
                    </Button>
                  )}
                </li>
              ))}
            </ul>
          </>
        )}
      </div>
    </div>
  );
}
