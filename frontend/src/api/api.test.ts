// @vitest-environment jsdom
import { afterAction, undoOf, type IncidentAction } from "./incidentActions";
import type { IncidentSummary } from "./incidents";
import { ApiError, explain } from "./problem";
import { troublesOf } from "./service";

const incident = { id: 1, state: "open", muted: false, muted_until: null, resolved_at: null } as IncidentSummary;

describe("optimistic changes", () => {
  it.each<[IncidentAction, Partial<IncidentSummary>]>([
    [{ kind: "acknowledge" }, { state: "acknowledged" }],
    [{ kind: "resolve" }, { state: "resolved" }],
    [{ kind: "mute", until: "2026-11-21T12:00:00Z" }, { muted: true, muted_until: "2026-11-21T12:00:00Z" }],
  ])("shows %j at once", (action, expected) => {
    expect(afterAction(incident, action)).toMatchObject(expected);
    expect(incident.state).toBe("open");
  });

  it("are reverted by undo", () => {
    for (const action of [{ kind: "acknowledge" }, { kind: "mute", until: null }] as const) {
      expect(afterAction(afterAction(incident, action), undoOf(action)!)).toMatchObject({ state: "open", muted: false, muted_until: null });
    }
    expect(undoOf({ kind: "resolve" })).toBeNull();
  });
});

describe("problems", () => {
  const document = {
    type: "urn:jitterscope:problem:invalid-request",
    title: "Invalid request",
    detail: "name: too long",
    what_to_do: "Shorten it.",
    errors: [{ location: "body.name", message: "too long", kind: "string_too_long" }],
  };

  it("say what failed, why, and what to do", () => {
    const error = new ApiError(422, document);
    expect(explain(error)).toEqual({ title: "Invalid request", detail: "name: too long Shorten it." });
    expect(error.fields).toEqual({ "body.name": "too long" });
  });

  it("are shown even if the response is not a problem document", () => {
    expect(explain(new ApiError(502, "<html>Bad gateway</html>")).title).toBe("The server returned 502");
    expect(explain(new TypeError("Failed to fetch")).title).toBe("Cannot reach Jitterscope");
    expect(explain("odd")).toEqual({ title: "Something went wrong", detail: "odd" });
  });
});

describe("the state of the service", () => {
  it("is reported per dependency, and empty if all is well", () => {
    expect(troublesOf(200, { status: "ready", checks: { database: "ok", valkey: "ok" } })).toEqual([]);
    expect(troublesOf(200, { status: "degraded", checks: { database: "ok", valkey: "is full: it refuses to store anything" } })).toEqual([
      "Valkey is full: it refuses to store anything.",
    ]);
    expect(troublesOf(503, { checks: { database: "refuses connections: it is starting", valkey: "ok" } })[0]).toMatch(/^PostgreSQL refuses connections: it is starting\. /);
  });

  it("is reported if a proxy responds", () => {
    expect(troublesOf(503, null)).toEqual(["The server returned 503."]);
  });
});
