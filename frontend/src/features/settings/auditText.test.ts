import { detailText, targetOf } from "./auditText";

describe("an audit entry", () => {
  it("shows changes as from and to, lists as words, and nothing unset", () => {
    expect(detailText({ cause: "cpu/gc_throttling", state: { from: "open", to: "acknowledged" }, detail: null })).toBe("cause: cpu/gc_throttling, state: open → acknowledged");
    expect(detailText({ off: { from: [], to: ["tcp_requests", "http_status"] }, quiet_hours: { from: null, to: "22:00" } })).toBe("off: none → tcp_requests, http_status, quiet hours: none → 22:00");
    expect(detailText({ shared: false, bytes: 40, filter: { severity: "warning" }, reason: "" })).toBe('shared: false, bytes: 40, filter: {"severity":"warning"}');
  });

  it("leads to the page of its target", () => {
    expect(targetOf("incident 3")).toEqual({ kind: "incident", id: 3 });
    expect(targetOf("resource 17")).toEqual({ kind: "resource", id: 17 });
    expect(targetOf("user 1")).toBeNull();
    expect(targetOf("incident 3 of another")).toBeNull();
  });
});
