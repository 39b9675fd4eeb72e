import { useInfiniteQuery } from "@tanstack/react-query";
import { Command } from "cmdk";
import { useDeferredValue, type ReactElement } from "react";

import { resourcesQuery } from "@/api/resources";
import { sentence } from "@/lib/text";

export interface ResourceResultsProps {
  text: string;
  onChoose: (resourceId: number) => void;
}

/** Resources that match the typed text, found by the server: existing ones first, then those that are gone. */
export function ResourceResults({ text, onChoose }: ResourceResultsProps): ReactElement | null {
  const search = useDeferredValue(text.trim());
  const { data } = useInfiniteQuery({ ...resourcesQuery({ search, gone: true }), enabled: search.length >= 2, refetchInterval: false });
  const found = search.length < 2 ? [] : (data?.pages[0]?.items ?? []).toSorted((a, b) => Number(b.active) - Number(a.active)).slice(0, 12);
  if (found.length === 0) return null;
  return (
    <Command.Group heading="Resources" forceMount>
      {found.map((resource) => (
        <Command.Item key={resource.id} forceMount value={`resource ${resource.id} ${resource.name}`} onSelect={() => onChoose(resource.id)}>
          <span>{resource.name}</span>
          <small>
            {sentence(resource.kind)} on {resource.node.name}
            {!resource.active && ", gone"}
          </small>
        </Command.Item>
      ))}
    </Command.Group>
  );
}
