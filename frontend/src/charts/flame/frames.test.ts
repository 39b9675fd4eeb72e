import { describe, expect, it } from "vitest";

import { boxes, neighbor, placed, search, type FlameData, type PlacedFrame } from "./frames";

/** all 100 → coredns 70 → (serve 50 → recv 10 in the kernel; gc 20), kubelet 30 → unmount 30 in the kernel */
const DATA: FlameData = {
  names: ["all", "coredns", "serve", "recv", "gc", "kubelet", "unmount"],
  kinds: ["root", "command", "user", "kernel"],
  parent: [0, 0, 1, 2, 1, 0, 5],
  name: [0, 1, 2, 3, 4, 5, 6],
  kind: [0, 1, 2, 3, 2, 1, 3],
  samples: [100, 70, 50, 10, 20, 30, 30],
};

function named(root: PlacedFrame, name: string): PlacedFrame {
  const found = root.descendants().find((frame) => frame.data.name === name);
  if (found === undefined) throw new Error(`no ${name}`);
  return found;
}

describe("placed", () => {
  it("gives every frame its share of the samples, the widest first", () => {
    const root = placed(DATA);
    expect(named(root, "coredns").x0).toBe(0);
    expect(named(root, "coredns").x1).toBeCloseTo(0.7);
    expect(named(root, "kubelet").x0).toBeCloseTo(0.7);
    expect(named(root, "kubelet").x1).toBeCloseTo(1);
    expect(named(root, "recv").x1 - named(root, "recv").x0).toBeCloseTo(0.1);
    expect(named(root, "recv").depth).toBe(3);
    expect(named(root, "unmount").data.kind).toBe("kernel");
  });

  it("draws an empty capture as its root", () => {
    const root = placed({ ...DATA, parent: [0], name: [0], kind: [0], samples: [0] });
    expect(boxes(root, 500).map((box) => box.frame.data.name)).toEqual(["all"]);
  });
});

describe("boxes", () => {
  it("leaves out boxes too narrow to see", () => {
    const root = placed(DATA);
    expect(boxes(root, 1000)).toHaveLength(7);
    expect(boxes(root, 15).map((box) => box.frame.data.name)).not.toContain("recv");
  });

  it("fills the width with the zoomed frame, its callers above", () => {
    const shown = boxes(named(placed(DATA), "serve"), 400);
    expect(shown.map((box) => [box.frame.data.name, box.left, Math.round(box.width), box.row, box.above])).toEqual([
      ["all", 0, 400, 0, true],
      ["coredns", 0, 400, 1, true],
      ["serve", 0, 400, 2, false],
      ["recv", 0, 80, 3, false],
    ]);
  });
});

describe("neighbor", () => {
  const root = placed(DATA);
  const shown = boxes(root, 1000);
  const id = (name: string): number => named(root, name).data.id;

  it("follows arrow keys", () => {
    expect(neighbor(shown, id("all"), "ArrowDown")).toBe(id("coredns"));
    expect(neighbor(shown, id("coredns"), "ArrowDown")).toBe(id("serve"));
    expect(neighbor(shown, id("serve"), "ArrowRight")).toBe(id("gc"));
    expect(neighbor(shown, id("gc"), "ArrowRight")).toBe(id("unmount"));
    expect(neighbor(shown, id("unmount"), "ArrowUp")).toBe(id("kubelet"));
  });

  it("stops at the edges", () => {
    expect(neighbor(shown, id("all"), "ArrowUp")).toBeNull();
    expect(neighbor(shown, id("all"), "ArrowLeft")).toBeNull();
    expect(neighbor(shown, id("recv"), "ArrowDown")).toBeNull();
    expect(neighbor(shown, id("coredns"), "ArrowLeft")).toBeNull();
  });

  it("starts over if the frame is no longer shown", () => {
    expect(neighbor(shown, 99, "ArrowDown")).toBe(id("all"));
  });
});

describe("search", () => {
  it("counts what is inside another match once", () => {
    const root = placed({ ...DATA, names: ["all", "coredns", "serve", "serve.inner", "gc", "kubelet", "unmount"] });
    expect(search(root, "SERVE")).toEqual({ ids: new Set([2, 3]), samples: 50 });
    expect(search(root, "n")).toMatchObject({ samples: 100 });
    expect(search(root, " ").ids.size).toBe(0);
  });
});
