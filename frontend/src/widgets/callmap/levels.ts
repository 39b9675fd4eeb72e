/** In which column of the map each place is, so that calls point to the right. Pure. */

export interface Ends {
  readonly caller: string;
  readonly called: string;
}

/** Columns from 0 by place: callers left of what they call, or as many columns from the center as hops from it. */
export function levelsOf(ids: readonly string[], calls: readonly Ends[], center: string | null): ReadonlyMap<string, number> {
  const levels = center !== null && ids.includes(center) ? hopsFrom(center, ids, calls) : depths(ids, calls);
  // A column without places would be a gap.
  const used = [...new Set(levels.values())].sort((a, b) => a - b);
  return new Map(ids.map((id) => [id, used.indexOf(levels.get(id) ?? 0)]));
}

/** Negative for callers. A place on both sides is where it is nearer, or among the callers. */
function hopsFrom(center: string, ids: readonly string[], calls: readonly Ends[]): Map<string, number> {
  const found = new Map([[center, 0]]);
  let [left, right] = [[center], [center]];
  for (let hops = 1; hops < ids.length && left.length + right.length > 0; hops += 1) {
    left = unique(calls.filter(({ called }) => left.includes(called)).map(({ caller }) => caller)).filter((id) => !found.has(id));
    left.forEach((id) => found.set(id, -hops));
    right = unique(calls.filter(({ caller }) => right.includes(caller)).map(({ called }) => called)).filter((id) => !found.has(id));
    right.forEach((id) => found.set(id, hops));
  }
  return found;
}

const unique = (ids: readonly string[]): string[] => [...new Set(ids)];

/** The longest way of calls to a place; a place that only calls is next to what it calls. */
function depths(ids: readonly string[], calls: readonly Ends[]): Map<string, number> {
  const { order, kept } = withoutCircles(ids, calls);
  const depth = new Map(ids.map((id) => [id, 0]));
  const at = (id: string): number => depth.get(id) ?? 0;
  for (const id of order) {
    for (const { caller, called } of kept) if (caller === id) depth.set(called, Math.max(at(called), at(id) + 1));
  }
  for (const id of ids) {
    const next = kept.filter(({ caller }) => caller === id).map(({ called }) => at(called));
    if (next.length > 0 && !kept.some(({ called }) => called === id)) depth.set(id, Math.min(...next) - 1);
  }
  return depth;
}

/** The calls without those that close a circle, and the places in an order in which every other call points forward. */
function withoutCircles(ids: readonly string[], calls: readonly Ends[]): { order: readonly string[]; kept: readonly Ends[] } {
  const state = new Map<string, "open" | "done">();
  const order: string[] = [];
  const kept: Ends[] = [];
  const visit = (id: string): void => {
    if (state.has(id)) return;
    state.set(id, "open");
    for (const call of calls) {
      if (call.caller !== id || state.get(call.called) === "open") continue;
      kept.push(call);
      visit(call.called);
    }
    state.set(id, "done");
    order.unshift(id);
  };
  // From where calls come in first: a circle is cut where it leads back.
  ids.filter((id) => !calls.some(({ caller, called }) => called === id && caller !== id)).forEach(visit);
  ids.forEach(visit);
  return { order, kept };
}
