import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import { api, unwrap, type Schemas } from "./client";
import { ApiError } from "./problem";

export type AnalysisSummary = Schemas["AnalysisSummary"];
export type Analysis = Schemas["Analysis"];
export type Report = Schemas["Report"];
export type ReportChartData = Schemas["Chart"];
export type ReportTableData = Schemas["Table"];
export type ReportFact = Schemas["Fact"];

export const analysisKeys = {
  list: ["analyses"] as const,
  one: (id: number) => ["analysis", id] as const,
  removal: (id: number) => ["analysis", id, "removal"] as const,
};

export const unfinished = (analysis: AnalysisSummary): boolean => analysis.state === "queued" || analysis.state === "running";

// Events report changes; polling covers events that do not arrive.
const ASK_AGAIN_MS = 3000;

// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types
export const analysesQuery = () =>
  infiniteQueryOptions({
    queryKey: analysisKeys.list,
    queryFn: ({ pageParam, signal }) => unwrap(api.GET("/api/v1/analyses", { params: { query: { cursor: pageParam, limit: 30 } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    refetchInterval: (query) => (query.state.data?.pages.some((page) => page.items.some(unfinished)) === true ? ASK_AGAIN_MS : false),
  });

// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types
export const analysisQuery = (id: number) =>
  queryOptions({
    queryKey: analysisKeys.one(id),
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/analyses/{analysis_id}", { params: { path: { analysis_id: id } }, signal })),
    refetchInterval: (query) => (query.state.data !== undefined && unfinished(query.state.data) ? ASK_AGAIN_MS : false),
  });

export async function deleteAnalysis(id: number): Promise<void> {
  await unwrap(api.DELETE("/api/v1/analyses/{analysis_id}", { params: { path: { analysis_id: id } } }));
}

/** Sends a file as the body; `onProgress` gets the share sent, 0..1, because `fetch` cannot report upload progress. */
export function uploadEvidence(file: File, onProgress: (ratio: number) => void, signal: AbortSignal): Promise<AnalysisSummary> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", `/api/v1/analyses?name=${encodeURIComponent(file.name.slice(-200))}`);
    request.setRequestHeader("X-Requested-With", "jitterscope");
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.addEventListener("progress", (event) => onProgress(event.lengthComputable ? event.loaded / Math.max(1, event.total) : 0));
    request.addEventListener("load", () => {
      const content = parsed(request.responseText);
      if (request.status === 202) resolve(content as AnalysisSummary);
      else reject(new ApiError(request.status, content));
    });
    request.addEventListener("error", () => reject(new TypeError("the upload failed")));
    request.addEventListener("abort", () => reject(new DOMException("The upload was canceled", "AbortError")));
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
