import { changeLines, changeMarks, linesInView, markLines, markName, type ChartChange } from "./changes";

const VIEW = { fromUs: 1_000_000, toUs: 11_000_000 };
const at = (atUs: number, text = "CPU limit 0.5 → 1 CPU"): ChartChange => ({ key: `${atUs} ${text}`, atUs, text, what: "shop/cart/cart", origin: "seen by a collector", of: [] });

test("changes that are far apart are marks of their own, near ones are one", () => {
  const marks = changeMarks([at(2_000_000), at(6_000_000), at(6_100_000), at(6_200_000)], VIEW, 1000);
  expect(marks.map((mark) => [mark.at, mark.place, mark.changes.length])).toEqual([
    [0.1, "in", 1],
    [0.5, "in", 3],
  ]);
  expect(changeMarks([at(6_000_000), at(6_100_000)], { fromUs: 5_900_000, toUs: 6_200_000 }, 1000)).toHaveLength(2);
});

test("what lies outside the view is gathered at its edges and drawn nowhere", () => {
  const changes = [at(0), at(500_000), at(2_000_000), at(11_000_000)];
  expect(changeMarks(changes, VIEW, 1000).map((mark) => [mark.at, mark.place, mark.changes.length])).toEqual([
    [0, "before", 2],
    [0.1, "in", 1],
    [1, "after", 1],
  ]);
  expect(changeLines(changes, VIEW)).toEqual([0.1]);
});

test("what is drawn is said in words, by the clock or from the start of a window", () => {
  const changes = [at(500_000), at(2_000_000, "cart 1 → 2"), at(11_000_000)];
  expect(linesInView(changes, VIEW)).toEqual(["00:00:02.0 cart 1 → 2 (shop/cart/cart, seen by a collector)"]);
  expect(linesInView(changes, VIEW, (us) => `+${us - VIEW.fromUs} µs`)).toEqual(["+1000000 µs cart 1 → 2 (shop/cart/cart, seen by a collector)"]);
  expect(linesInView(Array.from({ length: 12 }, () => at(2_000_000)), VIEW).at(-1)).toBe("and 4 more");
});

test("a mark is said with every change, up to eight of them", () => {
  const [mark] = changeMarks([at(2_000_000, "cart 1 → 2")], VIEW, 1000);
  expect(mark === undefined ? "" : markName(mark)).toMatch(/^Change: \d\d:\d\d:\d\d\.\d cart 1 → 2 \(shop\/cart\/cart, seen by a collector\)$/);
  const [many] = changeMarks(Array.from({ length: 12 }, (_, index) => at(2_000_000 + index)), VIEW, 1000);
  expect(many === undefined ? [] : markLines(many)).toHaveLength(9);
  expect(many === undefined ? "" : markName(many)).toMatch(/^12 changes: .*; and 4 more$/);
  const [early] = changeMarks([at(0), at(1)], VIEW, 1000);
  expect(early === undefined ? "" : markName(early)).toContain("2 changes before this view: ");
});
