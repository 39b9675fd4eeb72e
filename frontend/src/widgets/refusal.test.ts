import type { Me } from "@/api/me";

import { refusalOf } from "./refusal";

const me = (role: Me["role"], ...scopes: string[]): Me => ({ role, scopes, organization: { id: 1, name: "Acme" } }) as Me;

describe("refusalOf", () => {
  it("refuses nothing that the user has the scope for", () => {
    expect(refusalOf(me("editor", "incidents:write"), "incidents:write")).toBeNull();
  });

  it("says what the role cannot do, and whom to ask", () => {
    expect(refusalOf(me("viewer", "incidents:read"), "incidents:write")).toBe("Your role, viewer, cannot act on incidents. Ask an editor or admin of Acme.");
    expect(refusalOf(me("editor", "channels:read"), "channels:write")).toBe("Your role, editor, cannot change channels. Ask an admin of Acme.");
  });

  it("names no role where there is none", () => {
    expect(refusalOf(me(null, "resources:read"), "resources:write")).toBe("You cannot set objectives. Ask an editor or admin of Acme.");
  });
});
