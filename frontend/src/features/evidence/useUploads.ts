import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useRef, useState } from "react";

import { analysisKeys, uploadEvidence, type AnalysisSummary } from "@/api/analyses";
import { explain } from "@/api/problem";

/** A file being uploaded; an error stays until it is dismissed. */
interface Upload {
  readonly key: number;
  readonly name: string;
  readonly size: number;
  readonly ratio: number;
  readonly problem: string | null;
}

export interface Uploads {
  readonly uploads: readonly Upload[];
  readonly add: (files: readonly File[]) => void;
  readonly dismiss: (key: number) => void;
}

/** Uploads files one after the other, so that the first one finishes soonest. `onAdded` gets each uploaded file. */
export function useUploads(onAdded: (analysis: AnalysisSummary, of: number) => void): Uploads {
  const client = useQueryClient();
  const [uploads, setUploads] = useState<readonly Upload[]>([]);
  const next = useRef(1);
  const queue = useRef<Promise<void>>(Promise.resolve());
  const controllers = useRef(new Map<number, AbortController>());

  const change = useCallback((key: number, values: Partial<Upload>) => {
    setUploads((all) => all.map((one) => (one.key === key ? { ...one, ...values } : one)));
  }, []);
  const dismiss = useCallback((key: number) => {
    controllers.current.get(key)?.abort();
    controllers.current.delete(key);
    setUploads((all) => all.filter((one) => one.key !== key));
  }, []);
  const add = useCallback(
    (files: readonly File[]) => {
      for (const file of files) {
        const key = next.current++;
        const controller = new AbortController();
        controllers.current.set(key, controller);
        setUploads((all) => [...all, { key, name: file.name, size: file.size, ratio: 0, problem: null }]);
        queue.current = queue.current.then(async () => {
          if (controller.signal.aborted) return;
          try {
            const added = await uploadEvidence(file, (ratio) => change(key, { ratio }), controller.signal);
            dismiss(key);
            await client.invalidateQueries({ queryKey: analysisKeys.list });
            onAdded(added, files.length);
          } catch (error) {
            if (error instanceof DOMException && error.name === "AbortError") return;
            const { title, detail } = explain(error);
            change(key, { problem: `${title}. ${detail}` });
          }
        });
      }
    },
    [change, client, dismiss, onAdded],
  );
  return { uploads, add, dismiss };
}
