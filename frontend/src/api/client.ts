/** The typed client. A renamed field or path in contracts/openapi.json breaks the build here. */

import createClient, { type Middleware } from "openapi-fetch";

import { ApiError } from "./problem";
import type { components, paths } from "./schema.gen";

export type Schemas = components["schemas"];

let onSignedOut: () => void = () => undefined;

/** Called when the server reports that the session is missing or has ended. */
export function setSignedOutHandler(handler: () => void): void {
  onSignedOut = handler;
}

const session: Middleware = {
  onRequest({ request }) {
    // Proves to the server that this page sent the request: forms on other sites cannot set a header.
    request.headers.set("X-Requested-With", "jitterscope");
    return request;
  },
  onResponse({ response, schemaPath }) {
    if (response.status === 401 && !schemaPath.includes("/auth/") && !schemaPath.startsWith("/api/v1/shared/")) onSignedOut();
    return response;
  },
};

export const api = createClient<paths>({ baseUrl: window.location.origin });
api.use(session);

interface Outcome<Data> {
  data?: Data;
  error?: unknown;
  response: Response;
}

/** The response's data, or an ApiError. */
export async function unwrap<Data>(pending: Promise<Outcome<Data>>): Promise<Data> {
  const { data, error, response } = await pending;
  if (!response.ok || error !== undefined) throw new ApiError(response.status, error);
  return data as Data;
}
