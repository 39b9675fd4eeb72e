import { unwrap } from "@/api/client";
import { unpack } from "@/api/columns";
import type { TimelineModel } from "@/charts/timeline/model";

import { decodeTimeline, type ApiPicture } from "./decode";

/** Decodes a timeline that was requested in columns. */
export async function receiveTimeline(pending: Parameters<typeof unwrap<ArrayBuffer>>[0]): Promise<TimelineModel> {
  return decodeTimeline(unpack(await unwrap(pending)) as ApiPicture);
}
