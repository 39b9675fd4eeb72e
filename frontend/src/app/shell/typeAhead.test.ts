import { NOTHING_TYPED, withKey, type TypedAhead } from "./typeAhead";

const after = (...keys: string[]): TypedAhead => keys.reduce<TypedAhead>((typed, key) => withKey(typed, key) ?? typed, NOTHING_TYPED);

test("letters are the text, then moves are kept for what it finds", () => {
  expect(after("d", "n", "s", "ArrowDown", "Enter")).toEqual({ text: "dns", keys: ["ArrowDown", "Enter"] });
  expect(after("é", "😀", "x", "Backspace", "Backspace", " ")).toEqual({ text: "é ", keys: [] });
});

test("another text begins at its first result", () => {
  expect(after("d", "ArrowDown", "n")).toEqual({ text: "dn", keys: [] });
  expect(after("d", "ArrowDown", "Backspace")).toEqual({ text: "", keys: [] });
});

test("nothing is typed after Enter, and other keys are not the palette's", () => {
  expect(after("d", "Enter", "x", "Enter")).toEqual({ text: "d", keys: ["Enter"] });
  expect(["Tab", "F5", "Shift", "Escape"].map((key) => withKey(NOTHING_TYPED, key))).toEqual([null, null, null, null]);
});
