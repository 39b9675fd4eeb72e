/** What a confidence rests on. The API gives the rating alone: how the other causes were judged is what is known. Pure. */

import type { Incident } from "@/api/incidents";
import { count, plural } from "@/lib/format";

type Rival = Incident["rivals"][number];

/** More titles than this are a list to read, which is further down on the page. */
const NAMED = 3;

export function confidenceReason({ rivals, not_enough_data: unjudged }: Pick<Incident, "rivals" | "not_enough_data">): string {
  const of = (status: Rival["status"]): string[] => rivals.filter((rival) => rival.status === status).map(({ title }) => title);
  const others = unjudged.filter(({ cause }) => !rivals.some((rival) => rival.cause === cause)).length;
  return [
    "The cause rates how clear its evidence is. Missing data lowers the rating.",
    rivals.length === 0 ? "" : `Ruled out: ${count(of("ruled_out").length)} of ${plural(rivals.length, "other cause")}.`,
    listed("Not ruled out", of("not_ruled_out")),
    listed("Not enough data", of("not_enough_data")),
    others === 0 ? "" : `Not judged for lack of data: ${plural(others, "more cause")}.`,
  ]
    .filter(Boolean)
    .join(" ");
}

function listed(what: string, titles: readonly string[]): string {
  if (titles.length === 0) return "";
  const more = titles.length - NAMED;
  return `${what}: ${titles.slice(0, NAMED).join(", ")}${more > 0 ? `, and ${count(more)} more` : ""}.`;
}
