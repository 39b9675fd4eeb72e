import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";

import type { Schemas } from "@/api/client";
import { impactFigure } from "@/test/impact";

import { FixList } from "./FixList";
import { reasonOf, scaleOf } from "./fixScale";

const fix = (id: string, verdict: Schemas["Fix"]["verdict"], slow: [number, number, number] | null): Schemas["Fix"] => ({
  id,
  title: `Fix ${id}`,
  summary: `What ${id} does.`,
  verdict,
  predicted: slow === null ? {} : { slow_ratio: { low: slow[0], expected: slow[1], high: slow[2], level: 0.9 } },
  setting: null,
  precondition: null,
  patches: [{ label: "patch", language: "shell", text: `apply ${id}`, changes: [] }],
  caveats: [`mind ${id}`],
  verify: "look again",
  undo: `remove ${id}`,
  references: [],
});

const figures = [
  impactFigure("slow_ratio", 0.025, { phrase: "answers over 20 ms" }),
  impactFigure("p99_ms", 60, { unit: "ms" }),
  impactFigure("throttled_ratio", 0.4, { phrase: "throttled periods" }),
];

const fixes = [fix("limit", "removes", [0, 0, 0.0005]), fix("burst", "cannot_help", [0.02, 0.026, 0.03]), fix("gogc", "unknown", null)];

describe("FixList", () => {
  it("shows verdict, prediction, and interval in words", () => {
    render(<FixList fixes={fixes} figures={figures} />);
    const [first, second, third] = screen.getAllByRole("listitem").filter((item) => item.hasAttribute("data-verdict"));
    expect(within(first!).getByText(/Removes it/)).toBeVisible();
    expect(within(first!).getByRole("img")).toHaveAccessibleName(/Predicted 0 %, between 0 % and 0.05 % \(90 % interval\); now 2.5 %/);
    expect(within(second!).getByText(/Cannot help/)).toBeVisible();
    expect(within(third!).getByText("no prediction")).toBeVisible();
  });

  it("draws all fixes on one scale that fits the current value and the widest interval", () => {
    const scale = scaleOf(fixes, figures)!;
    expect(scale).toMatchObject({ of: "slow_ratio", now: 0.025, phrase: "answers over 20 ms" });
    expect(scale.max).toBeGreaterThan(0.03);
    expect(scaleOf([fix("x", "unknown", null)], figures)).toBeNull();
    expect(scaleOf(fixes, figures.slice(1))).toBeNull();
  });

  it("copies the whole patch and shows undo and caveats of the open fix", async () => {
    const user = userEvent.setup();
    const copied = vi.fn();
    render(<FixList fixes={fixes} figures={figures} onCopied={copied} />);
    await user.click(screen.getByRole("button", { name: "Copy patch: Fix limit" }));
    expect(await navigator.clipboard.readText()).toBe("apply limit");
    expect(copied).toHaveBeenCalledWith(fixes[0]);

    expect(screen.getByText("mind limit")).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Fix burst" }));
    expect(screen.getByText("remove burst")).toBeVisible();
    expect(screen.queryByText("mind limit")).toBeNull();
  });

  it("offers the patch of a fix that cannot help quietly, and says why it cannot", async () => {
    const user = userEvent.setup();
    const burst = { ...fixes[1]!, summary: "Cannot help enough. Burst adds at most one quota, and one cycle needs 3.2 quotas of CPU." };
    render(<FixList fixes={[fixes[0]!, burst]} figures={figures} />);
    expect(screen.queryByRole("button", { name: "Copy patch: Fix burst" })).toBeNull();
    const copy = screen.getByRole("button", { name: "Copy patch anyway: Fix burst" });
    expect(copy).toHaveClass("quiet");
    expect(copy).toHaveAccessibleDescription("Cannot help. Burst adds at most one quota, and one cycle needs 3.2 quotas of CPU.");
    await user.click(copy);
    expect(await navigator.clipboard.readText()).toBe("apply burst");
  });

  it("gives the reason of a fix that cannot help without repeating the verdict", () => {
    const reason = (summary: string): string => reasonOf({ ...fixes[1]!, summary });
    expect(reason("Cannot help: the live heap nearly fills the limit.")).toBe("The live heap nearly fills the limit.");
    expect(reason("Cannot help on GKE: kube-dns is managed.")).toBe("On GKE: kube-dns is managed.");
  });

  it("shows a fix as files for Kustomize where it can be", async () => {
    const user = userEvent.setup();
    const files = [
      { path: "jitterscope-deployment-coredns.yaml", text: "kind: Deployment\n" },
      { path: "kustomization.yaml", text: "patches:\n- path: jitterscope-deployment-coredns.yaml\n" },
    ];
    render(<FixList fixes={fixes} figures={figures} kustomize={[{ fix_id: "limit", files }]} />);
    expect(screen.getByRole("region", { name: "patch" })).toHaveTextContent("apply limit");
    await user.click(screen.getByRole("button", { name: "Kustomize" }));
    expect(screen.queryByRole("region", { name: "patch" })).toBeNull();
    await user.click(screen.getByRole("button", { name: "Copy jitterscope-deployment-coredns.yaml" }));
    expect(await navigator.clipboard.readText()).toBe("kind: Deployment\n");
    await user.click(screen.getByRole("button", { name: "Fix burst" }));
    expect(screen.queryByRole("button", { name: "Kustomize" })).toBeNull();
  });
});
