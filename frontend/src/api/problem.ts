/** API errors: RFC 9457 problem documents as exceptions that say what to do. */

export class ApiError extends Error {
  readonly status: number;
  readonly type: string;
  readonly title: string;
  readonly detail: string;
  readonly whatToDo: string | null;
  /** Message by field location ("body.name"). */
  readonly fields: Readonly<Record<string, string>>;

  constructor(status: number, document: unknown) {
    const problem = isRecord(document) ? document : {};
    const text = (name: string): string | null => (typeof problem[name] === "string" ? problem[name] : null);
    const title = text("title") ?? `The server returned ${status}`;
    const detail = text("detail") ?? "It gave no details.";
    super(`${title}: ${detail}`);
    this.name = "ApiError";
    this.status = status;
    this.type = text("type") ?? "";
    this.title = title;
    this.detail = detail;
    this.whatToDo = text("what_to_do");
    this.fields = fieldMessages(problem["errors"]);
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function fieldMessages(errors: unknown): Record<string, string> {
  const messages: Record<string, string> = {};
  if (!Array.isArray(errors)) return messages;
  for (const entry of errors as unknown[]) {
    if (isRecord(entry) && typeof entry["location"] === "string" && typeof entry["message"] === "string") {
      messages[entry["location"]] = entry["message"];
    }
  }
  return messages;
}

/** Title and text of an error state, for any thrown value. */
export function explain(error: unknown): { title: string; detail: string } {
  if (error instanceof ApiError) {
    return { title: error.title, detail: [error.detail, error.whatToDo].filter(Boolean).join(" ") };
  }
  if (error instanceof TypeError) {
    return {
      title: "Cannot reach Jitterscope",
      detail: "Check that it is running and that your network is up. This page retries on its own.",
    };
  }
  return { title: "Something went wrong", detail: error instanceof Error ? error.message : String(error) };
}
