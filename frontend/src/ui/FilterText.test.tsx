import { act, fireEvent, render, screen } from "@testing-library/react";
import { useState, type ReactElement } from "react";

import { FilterText } from "./FilterText";

function List(): ReactElement {
  const [value, setValue] = useState<string>();
  return (
    <>
      <FilterText label="Name" value={value} onChange={setValue} />
      <button onClick={() => setValue("of a view")}>Open view</button>
      <button onClick={() => setValue(undefined)}>Clear</button>
      <p>Filter: {value ?? "none"}</p>
    </>
  );
}

const pass = (ms = 1000): void => {
  act(() => {
    vi.advanceTimersByTime(ms);
  });
};

describe("FilterText", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("reports typed text, and takes over values set from outside", () => {
    render(<List />);
    fireEvent.change(screen.getByRole("searchbox"), { target: { value: "dns" } });
    pass();
    expect(screen.getByText("Filter: dns")).toBeVisible();
    for (const [button, text, filter] of [["Open view", "of a view", "of a view"], ["Clear", "", "none"]] as const) {
      fireEvent.click(screen.getByText(button));
      pass();
      expect(screen.getByRole("searchbox")).toHaveValue(text);
      expect(screen.getByText(`Filter: ${filter}`)).toBeVisible();
    }
  });

  it("keeps the typed text while the list has an earlier value", () => {
    render(<List />);
    const box = screen.getByRole("searchbox");
    fireEvent.change(box, { target: { value: "d" } });
    pass(200);
    fireEvent.change(box, { target: { value: "dn" } });
    pass();
    expect(box).toHaveValue("dn");
    expect(screen.getByText("Filter: dn")).toBeVisible();
  });
});
