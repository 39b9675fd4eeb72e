import { render, waitFor } from "@testing-library/react";
import { useRef, type ReactElement } from "react";

import { Skeleton } from "./states";
import { useSettled } from "./useSettled";

function Page({ title, loading }: { title: string; loading: boolean }): ReactElement {
  const main = useRef<HTMLElement>(null);
  useSettled(main, title);
  return <main ref={main}>{loading ? <Skeleton /> : <p>content</p>}</main>;
}

const isSettled = (container: HTMLElement): boolean => container.querySelector("main[data-settled]") !== null;

describe("a page", () => {
  it("is settled once nothing in it is loading, and stays settled when a part reloads", async () => {
    const { container, rerender } = render(<Page title="a" loading />);
    expect(isSettled(container)).toBe(false);
    rerender(<Page title="a" loading={false} />);
    await waitFor(() => expect(isSettled(container)).toBe(true));
    rerender(<Page title="a" loading />);
    expect(isSettled(container)).toBe(true);
  });

  it("starts over for a different subject", async () => {
    const { container, rerender } = render(<Page title="a" loading={false} />);
    await waitFor(() => expect(isSettled(container)).toBe(true));
    rerender(<Page title="b" loading />);
    expect(isSettled(container)).toBe(false);
  });
});
