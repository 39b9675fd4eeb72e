/** How to start a collector or another program that sends here. */

import { queryOptions } from "@tanstack/react-query";

import { api, unwrap, type Schemas } from "./client";

export type Setup = Schemas["Setup"];
export type Setups = Schemas["Setups"];

/** Placeholder for the secret in a setup's text. */
const PLACEHOLDER = "INGEST_TOKEN";

/** With the address of this page, which other machines might reach even where the service does not know it. */
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types -- keeps the inferred types of key and data
export const setupsQuery = () =>
  queryOptions({
    queryKey: ["setups"] as const,
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/collectors/setups", { params: { query: { origin: window.location.origin } }, signal })),
    staleTime: 600_000,
  });

export const textWith = ({ text }: Setup, secret: string): string => text.replaceAll(PLACEHOLDER, secret);
