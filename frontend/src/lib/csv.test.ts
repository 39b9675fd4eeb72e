import { csvText } from "./csv";

const text = (...row: (string | number | null)[]): string => csvText({ name: "t", columns: ["a"], rows: () => [row] }).split("\r\n")[1] ?? "";

describe("csvText", () => {
  it("has the columns first and ends each line", () => {
    expect(csvText({ name: "t", columns: ["Time (UTC)", "CPU usage (CPU)"], rows: () => [["2026-11-24T19:00:00Z", 0.25]] })).toBe(
      "Time (UTC),CPU usage (CPU)\r\n2026-11-24T19:00:00Z,0.25\r\n",
    );
  });

  it("leaves missing values empty, never zero", () => {
    expect(text(null, NaN, 0)).toBe(",,0");
  });

  it("quotes text that would be parsed as a column or a line break", () => {
    expect(text("a,b", 'say "x"', "two\nlines")).toBe('"a,b","say ""x""","two\nlines"');
  });

  it("keeps names from being formulas, and numbers numbers", () => {
    expect(text("=HYPERLINK(1)", "+1", "@x", "-2", -2)).toBe("'=HYPERLINK(1),'+1,'@x,'-2,-2");
  });
});
