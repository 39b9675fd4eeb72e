import { render, screen } from "@testing-library/react";

import { impactFigure } from "@/test/impact";

import { Figures } from "./Figures";

describe("Figures", () => {
  it("draws the figures that an area declares, each in its unit", () => {
    render(
      <Figures
        figures={[
          impactFigure("error_ratio", 0.0021, { title: "Failed requests", hot: true, detail: "21 of 10,000 requests" }),
          impactFigure("p99_ms", 60, { title: "p99 latency", unit: "ms" }),
          impactFigure("cpu_mean", 0.23, { title: "Mean CPU", unit: "cpu", better: "none" }),
          impactFigure("gc_cycles", 1204, { title: "GC cycles", unit: "1", better: "none" }),
        ]}
      />,
    );
    expect(screen.getAllByRole("definition").map((one) => one.textContent)).toEqual(["0.21 %", "21 of 10,000 requests", "60 ms", "0.23 CPU", "1,204"]);
    expect(screen.getByText("0.21 %")).toHaveAttribute("data-hot");
    expect(screen.getByText("60 ms")).not.toHaveAttribute("data-hot");
  });

  it("draws nothing if nothing is known", () => {
    const { container } = render(<Figures figures={[]} />);
    expect(container).toBeEmptyDOMElement();
  });
});
