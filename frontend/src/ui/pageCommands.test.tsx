import { act, renderHook } from "@testing-library/react";

import { useCommandsOfPage, usePageCommand } from "./pageCommands";

const titles = (): string[] => renderHook(useCommandsOfPage).result.current.map(({ title }) => title);

describe("commands of a page", () => {
  it("are offered while they apply, under their current title", () => {
    const initialProps: { title: string | null } = { title: "Acknowledge" };
    const page = renderHook(({ title }) => usePageCommand(title, () => undefined), { initialProps });
    expect(titles()).toEqual(["Acknowledge"]);
    page.rerender({ title: "Unacknowledge" });
    expect(titles()).toEqual(["Unacknowledge"]);
    page.rerender({ title: null });
    expect(titles()).toEqual([]);
    page.rerender({ title: "Resolve" });
    page.unmount();
    expect(titles()).toEqual([]);
  });

  it("run what the page would do now", () => {
    const ran: number[] = [];
    const page = renderHook(({ at }: { at: number }) => usePageCommand("Copy", () => ran.push(at)), { initialProps: { at: 1 } });
    const { result } = renderHook(useCommandsOfPage);
    page.rerender({ at: 2 });
    act(() => result.current[0]?.run());
    expect(ran).toEqual([2]);
    page.unmount();
  });
});
