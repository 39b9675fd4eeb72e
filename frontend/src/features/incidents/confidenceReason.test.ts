import type { Incident } from "@/api/incidents";

import { confidenceReason } from "./confidenceReason";

type Rival = Incident["rivals"][number];

const rival = (cause: string, status: Rival["status"]): Rival => ({ cause, title: `Title of ${cause}`, status, reason: "", numbers: {} });
const missing = (cause: string): Incident["not_enough_data"][number] => ({ kind: "not_enough_data", cause, missing: [], reason: "" });

const RATED = "The cause rates how clear its evidence is. Missing data lowers the rating.";

describe("confidenceReason", () => {
  it("counts what is ruled out, and names what is not", () => {
    const rivals = [rival("a", "ruled_out"), rival("b", "ruled_out"), rival("c", "not_ruled_out"), rival("d", "not_enough_data")];
    expect(confidenceReason({ rivals, not_enough_data: [] })).toBe(`${RATED} Ruled out: 2 of 4 other causes. Not ruled out: Title of c. Not enough data: Title of d.`);
  });

  it("counts causes that were not judged, and those among the rivals only once", () => {
    const rivals = [rival("d", "not_enough_data")];
    expect(confidenceReason({ rivals, not_enough_data: [missing("d"), missing("e"), missing("f")] })).toBe(
      `${RATED} Ruled out: 0 of 1 other cause. Not enough data: Title of d. Not judged for lack of data: 2 more causes.`,
    );
  });

  it("names at most three, and claims nothing where there is nothing", () => {
    const rivals = ["a", "b", "c", "d", "e"].map((cause) => rival(cause, "not_ruled_out"));
    expect(confidenceReason({ rivals, not_enough_data: [] })).toContain("Not ruled out: Title of a, Title of b, Title of c, and 2 more.");
    expect(confidenceReason({ rivals: [], not_enough_data: [] })).toBe(RATED);
  });
});
