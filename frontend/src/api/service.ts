/** Whether the service's dependencies work: the result of /readyz, in sentences. */

import { queryOptions } from "@tanstack/react-query";

import { ApiError, explain } from "./problem";

const PARTS: Readonly<Record<string, string>> = { database: "PostgreSQL", valkey: "Valkey" };

/** What is wrong now; empty if everything works. */
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types -- keeps the inferred types of key and data
export const serviceQuery = () =>
  queryOptions({
    queryKey: ["service"],
    queryFn: async ({ signal }): Promise<string[]> => {
      try {
        // eslint-disable-next-line no-restricted-globals -- a probe: no session, and not part of the API contract
        const response = await fetch("/readyz", { signal, cache: "no-store" });
        return troublesOf(response.status, await response.json().catch(() => null));
      } catch (error) {
        const { title, detail } = explain(error);
        return [`${title}. ${detail}`];
      }
    },
    retry: false,
    refetchInterval: 5_000,
  });

/** The /readyz response as sentences. If no process is ready, a proxy might respond instead. */
export function troublesOf(status: number, body: unknown): string[] {
  const checks = typeof body === "object" && body !== null && "checks" in body ? body.checks : null;
  if (typeof checks !== "object" || checks === null) return status < 500 ? [] : [sentence(new ApiError(status, body).title)];
  return Object.entries(checks)
    .filter(([, said]) => said !== "ok")
    .map(([part, said]) => {
      const told = sentence(`${PARTS[part] ?? part} ${String(said)}`);
      return part === "database" ? `${told} Pages show what was loaded before. Collectors keep their data and send it later.` : told;
    });
}

const sentence = (text: string): string => (text.endsWith(".") ? text : `${text}.`);
