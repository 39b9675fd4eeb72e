/** Puts children below their parents and keeps the server's order among siblings. Pure. */

import type { ResourceItem } from "@/api/resources";

export interface TreeRow {
  readonly item: ResourceItem;
  readonly depth: number;
  /** The name without the part shown in the parent's row. */
  readonly label: string;
}

export function asTree(items: readonly ResourceItem[]): TreeRow[] {
  const known = new Map(items.map((item) => [item.id, item]));
  const below = new Map<number | null, ResourceItem[]>();
  for (const item of items) {
    const parent = item.parent_id !== null && known.has(item.parent_id) ? item.parent_id : null;
    const siblings = below.get(parent);
    if (siblings === undefined) below.set(parent, [item]);
    else siblings.push(item);
  }
  const rows: TreeRow[] = [];
  const visit = (parent: ResourceItem | null, depth: number): void => {
    for (const item of below.get(parent?.id ?? null) ?? []) {
      rows.push({ item, depth, label: label(item, parent) });
      visit(item, depth + 1);
    }
  };
  visit(null, 0);
  return rows;
}

function label(item: ResourceItem, parent: ResourceItem | null): string {
  const prefix = parent === null ? "" : `${parent.name}/`;
  return prefix !== "" && item.name.startsWith(prefix) ? item.name.slice(prefix.length) : item.name;
}
