import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, type ReactElement } from "react";

import { serviceQuery } from "@/api/service";

import styles from "./Shell.module.css";

/** Shows on every page what the service lacks: pages already loaded would look as if all were well. */
export function ServiceState(): ReactElement | null {
  const client = useQueryClient();
  const { data: troubles = [] } = useQuery(serviceQuery());
  const well = troubles.length === 0;
  const wasWell = useRef(true);
  useEffect(() => {
    // Queries that gave up in the meantime do not retry on their own.
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
