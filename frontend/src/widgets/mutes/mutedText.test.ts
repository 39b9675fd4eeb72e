import { mutedText } from "./mutedText";

const now = Date.parse("2026-11-25T12:00:00Z") * 1000;
const mute = { id: 1, by: "Ada", reason: "load test", only_this: false, recurs: false };

describe("the text of a mute", () => {
  it("says until when, by whom, and why", () => {
    const text = mutedText({ muted: true, muted_until: "2026-11-25T14:30:00Z", mute }, now);
    expect(text).toMatch(/^muted until .*\d\d:30.* by Ada: load test$/);
    expect(mutedText({ muted: true, muted_until: null, mute }, now)).toBe("muted by Ada: load test");
  });

  it("is short in a list", () => {
    expect(mutedText({ muted: true, muted_until: null, mute }, now, false)).toBe("muted");
  });
});
