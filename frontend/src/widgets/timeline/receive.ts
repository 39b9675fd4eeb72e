import { unwrap } from "@/api/client";
import { unpack } from "@/api/columns";
import type { TimelineModel } from "@/charts/timeline/model";

import { decodeTimeline, type ApiPicture } from "./decode";

/** The picture that was asked for in columns. */
export async function receiveTimeline(pending: Parameters<typeof unwrap<ArrayBuffer>>[0]): Promise<TimelineModel> {
  return decodeTimeline(unpack(await unwrap(pending)) as ApiPicture);
}
