import type { TimelineModel } from "@/charts/timeline/model";

/** One of several runs of the same window. */
export interface Run {
  readonly title: string;
  readonly model: TimelineModel;
}
