import type { ResourceItem } from "@/api/resources";

import { asTree } from "./tree";

const item = (id: number, parent_id: number | null, name: string): ResourceItem => ({ id, parent_id, name }) as ResourceItem;

describe("asTree", () => {
  it("puts children below their parents whatever the order, without repeating the parent's name", () => {
    const rows = asTree([item(3, 2, "/pods/a/coredns"), item(1, null, "/pods"), item(2, 1, "/pods/a"), item(4, 1, "named differently")]);
    expect(rows.map(({ item: one, depth, label }) => [one.id, depth, label])).toEqual([
      [1, 0, "/pods"],
      [2, 1, "a"],
      [3, 2, "coredns"],
      [4, 1, "named differently"],
    ]);
  });

  it("keeps resources whose parent is on another page", () => {
    expect(asTree([item(9, 7, "/pods/x")])).toHaveLength(1);
  });
});
