/** The initial view of an incident's timeline: its onset, with calm before and after it. Pure. */

import { US_PER_S } from "@/lib/time";
import { clampView, span, type TimeView } from "@/lib/timeView";

import type { Stall, TimelineModel } from "./model";

/** Stalls closer together than this are one episode. */
const QUIET_US = US_PER_S;
const LEAST_CALM_US = 1.5 * US_PER_S;
/** In a longer view, a stall of tens of ms is too short to see. */
const LONGEST_US = 20 * US_PER_S;

/**
 * Around the first episode of stalls from the onset on; without throttling, around the span of the evidence if that is
 * short; otherwise around the onset, or the middle if the onset is before the recording.
 */
export function openingView(model: TimelineModel, onsetUs: number, evidence: TimeView | null): TimeView {
  const { extent } = model;
  const episode = firstEpisode(model.throttled, onsetUs) ?? (evidence !== null && span(evidence) <= LONGEST_US / 2 ? evidence : null);
  if (episode !== null) return calmAround(episode, extent);
  const us = onsetUs >= extent.fromUs && onsetUs < extent.toUs ? onsetUs : extent.fromUs + span(extent) / 2;
  return calmAround({ fromUs: us, toUs: us + 1 }, extent);
}

function firstEpisode(stalls: readonly Stall[], onsetUs: number): TimeView | null {
  let episode: TimeView | null = null;
  for (const stall of stalls) {
    // The onset is the time of a tick, and a stall starts before it is counted.
    if (episode === null && stall.toUs < onsetUs - QUIET_US) continue;
    if (episode === null) episode = { fromUs: stall.fromUs, toUs: stall.toUs };
    else if (stall.fromUs - episode.toUs < QUIET_US) episode = { fromUs: episode.fromUs, toUs: Math.max(episode.toUs, stall.toUs) };
    else break;
  }
  return episode;
}

/** At least as much calm as fault; if the fault is too long, its start. */
function calmAround(episode: TimeView, extent: TimeView): TimeView {
  const calmUs = Math.max(LEAST_CALM_US, span(episode) / 2);
  const fromUs = episode.fromUs - Math.min(calmUs, LONGEST_US / 4);
  return clampView({ fromUs, toUs: Math.min(episode.toUs + calmUs, fromUs + LONGEST_US) }, extent);
}
