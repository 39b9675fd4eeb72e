import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";

import { resourceFactsQuery } from "@/api/resources";
import { Button } from "@/ui/Button";

import styles from "./Metrics.module.css";
import type { MetricsSearch } from "./search";

export interface MatchesProps {
  search: MetricsSearch;
  onSearch: (next: Partial<MetricsSearch>) => void;
}

/** The active filters, each with a button to remove it. */
export function Matches({ search, onSearch }: MatchesProps): ReactElement | null {
  const matches = search.match ?? [];
  if (matches.length === 0 && search.resource === undefined) return null;
  return (
    <div className={styles["matches"]} role="group" aria-label="Filters">
      {search.resource !== undefined && <OfResource id={search.resource} onRemove={() => onSearch({ resource: undefined })} />}
      {matches.map((match) => (
        <Button
          key={match}
          onClick={() => {
            const others = matches.filter((one) => one !== match);
            onSearch({ match: others.length === 0 ? undefined : others });
          }}
        >
          <span className="visually-hidden">Remove filter</span> {match} <span aria-hidden="true">✕</span>
        </Button>
      ))}
    </div>
  );
}

function OfResource({ id, onRemove }: { id: number; onRemove: () => void }): ReactElement {
  const { data } = useQuery(resourceFactsQuery(id));
  return (
    <>
      <span>
        Of{" "}
        <Link to="/resources/$resourceId" params={{ resourceId: id }}>
          {data?.name ?? `resource ${id}`}
        </Link>
      </span>
      <Button onClick={onRemove}>Show all resources</Button>
    </>
  );
}
