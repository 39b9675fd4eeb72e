import type { Incident } from "@/api/incidents";

import { literally, scopesOf } from "./muteScopes";

const incident = {
  id: 17,
  cause: "cpu/gc_throttling",
  cause_title: "GC throttling",
  namespace: "kube-system",
  workload: "coredns",
  subject: { resource_id: 3, name: "kube-system/coredns-7c9/coredns" },
} as Incident;

describe("the scopes of an incident's mute", () => {
  it("are the incident, its cause on the workload, its cause, and its namespace", () => {
    const scopes = scopesOf(incident);
    expect(scopes.map(({ id }) => id)).toEqual(["incident", "cause_here", "cause", "namespace"]);
    expect(scopes.map(({ filter }) => filter.incident_id)).toEqual([17, null, null, null]);
    expect(scopes[1]).toMatchObject({ title: "This cause on kube-system/coredns", filter: { resource_id: null, conditions: { causes: ["cpu/gc_throttling"], resources: ["kube-system/coredns"] } } });
    expect(scopes[3]!.filter.conditions).toMatchObject({ namespaces: ["kube-system"], causes: [] });
  });

  it("use the resource if no workload is known, without a namespace", () => {
    const scopes = scopesOf({ ...incident, namespace: null, workload: null });
    expect(scopes.map(({ id }) => id)).toEqual(["incident", "cause_here", "cause"]);
    expect(scopes[1]).toMatchObject({ title: "This cause on kube-system/coredns-7c9/coredns", filter: { resource_id: 3, conditions: { resources: [] } } });
  });

  it("take names literally", () => {
    expect(literally("a[1]*?")).toBe("a[[]1][*][?]");
  });
});
