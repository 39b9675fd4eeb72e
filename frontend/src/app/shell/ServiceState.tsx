import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, type ReactElement } from "react";

import { serviceQuery } from "@/api/service";

import styles from "./Shell.module.css";

/** Says on every page what the service lacks: pages that are loaded already would look as if nothing had happened. */
export function ServiceState(): ReactElement | null {
  const client = useQueryClient();
  const { data: troubles = [] } = useQuery(serviceQuery());
  const well = troubles.length === 0;
  const wasWell = useRef(true);
  useEffect(() => {
    // Queries that gave up meanwhile do not try again by themselves.
    if (well && !wasWell.current) void client.invalidateQueries();
    wasWell.current = well;
  }, [well, client]);
  if (well) return null;
  return (
    <div className={styles["trouble"]} role="alert">
      {troubles.map((trouble) => (
        <p key={trouble}>{trouble}</p>
      ))}
    </div>
  );
}
