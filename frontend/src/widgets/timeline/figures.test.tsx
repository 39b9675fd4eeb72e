/** Figures match the recording, under the cursor and of spans, for 1,000 random recordings each. */

import { renderToStaticMarkup } from "react-dom/server";

import { SLOW_US } from "@/api/catalogue.gen";
import type { TimelineModel } from "@/charts/timeline/model";
import { Readout } from "@/charts/timeline/Readout";
import { spanStats } from "@/charts/timeline/stats";
import { count, cpus, microseconds } from "@/lib/format";

import { countsIn, dotsOf, FINE, T0, TICK, tickOf } from "./recordings";
import { everyRecording, fineIn, overIn, within } from "./truth";

describe("figures", () => {
  it("under the cursor are those of the tick, at every zoom", () => {
    everyRecording((was, { cursorUs }, model) => {
      const rows = rowsOf(model, cursorUs);
      const tick = tickOf(cursorUs);
      const fine = fineIn(was, cursorUs);
      const value = fine ?? was.cpus[tick] ?? null;
      const stepUs = fine === null ? TICK : FINE;
      const fromUs = cursorUs - ((cursorUs - T0) % stepUs);
      if (value === null) expect(rows.find(({ name }) => name.startsWith("CPU"))?.value).toBe("not recorded");
      else {
        const row = rows.find(({ name }) => name === (stepUs === FINE ? "CPU in 10 ms" : "CPU in 100 ms"));
        expect(row?.value.startsWith(cpus(value))).toBe(true);
        expect(row?.hot).toBe(overIn(was, fromUs, value));
      }
      const isFine = model.cpu.stepUs === FINE;
      const shownFrom = isFine ? cursorUs - ((cursorUs - T0) % FINE) : T0 + tick * TICK;
      const shown = { fromUs: shownFrom, toUs: shownFrom + (isFine ? FINE : TICK) };
      const stalls = was.stalls.filter((stall) => within(shown, stall.fromUs, stall.toUs));
      expect(rows.filter(({ name }) => name === "Throttled")).toHaveLength(stalls.length);

      const queries = rows.find(({ name }) => name.startsWith("Queries"));
      if (!was.serves) {
        expect(queries).toBeUndefined();
        return;
      }
      const counts = countsIn(was)[tick] ?? null;
      if (counts === null) expect(queries?.value).toBe("not counted");
      else {
        expect(queries?.name).toBe("Queries in 100 ms");
        expect(queries?.value).toBe(counts.p50Us === null ? count(counts.queries) : `${count(counts.queries)}, median answer ${microseconds(counts.p50Us)}`);
        expect(rows.find(({ name }) => name.startsWith("Slow answers"))?.value).toBe(counts.slow > 0 ? count(counts.slow) : undefined);
      }
      const dots = dotsOf(was);
      const isComplete = was.kept[tick] === true && dots.truncated === 0;
      expect(rows.some(({ name }) => name === "Single answers")).toBe(!isComplete);
      const latencies = dots.dots.filter(({ us }) => us >= shown.fromUs && us < shown.toUs).map(({ latencyUs }) => latencyUs);
      const slowest = isComplete && latencies.length > 0 ? Math.max(...latencies) : Math.max(...latencies, counts?.maxUs ?? -Infinity);
      const row = rows.find(({ name }) => name.startsWith("Slowest answer"));
      if (slowest === -Infinity) expect(row).toBeUndefined();
      else {
        expect(row?.value).toBe(microseconds(slowest));
        expect(row?.hot).toBe(slowest > SLOW_US);
      }
    });
  });

  it("of a span sum up its content", () => {
    everyRecording((was, _part, model) => {
      const [a, b] = [Math.floor(was.ticks / 3), was.ticks];
      const view = { fromUs: T0 + a * TICK, toUs: T0 + b * TICK };
      const stats = spanStats(model, view);
      const values = was.cpus.slice(a, b).filter((value) => value !== null);
      expect(stats.cpuMax).toBe(values.length === 0 ? null : Math.max(...values));
      if (values.length > 0) expect(stats.cpuMean).toBeCloseTo(values.reduce((sum, value) => sum + value, 0) / values.length, 9);
      expect(stats.missingTicks).toBe(b - a - values.length);
      const counts = countsIn(was).slice(a, b).filter((tick) => tick !== null);
      expect(stats.queries).toBe(counts.length === 0 ? null : counts.reduce((sum, tick) => sum + tick.queries, 0));
      expect(stats.slow).toBe(counts.length === 0 ? null : counts.reduce((sum, tick) => sum + tick.slow, 0));
      const stopped = was.stalls.reduce((sum, { fromUs, toUs }) => sum + Math.max(0, Math.min(toUs, view.toUs) - Math.max(fromUs, view.fromUs)), 0);
      expect(stats.throttledUs).toBeCloseTo(stopped, 3);
    });
  });
});

/** The readout as displayed. */
function rowsOf(model: TimelineModel, us: number): { readonly name: string; readonly value: string; readonly hot: boolean }[] {
  const page = new DOMParser().parseFromString(renderToStaticMarkup(<Readout model={model} us={us} />), "text/html");
  return [...page.querySelectorAll("dl > div")].map((row) => ({
    name: row.querySelector("dt")?.textContent ?? "",
    value: (row.querySelector("dd")?.textContent ?? "").replace(/ = .* of limit$/, ""),
    hot: row.getAttribute("data-tone") === "hot",
  }));
}
