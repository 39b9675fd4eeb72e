/** Saved views: a page of Explore with its URL parameters. */

import { queryOptions } from "@tanstack/react-query";

import { api, unwrap, type Schemas } from "./client";

export type SavedView = Schemas["SavedView"];
export type SavedViewChange = Schemas["SavedViewChange"];

// The type of the options is inferred on purpose: it carries the types of the key and the data.
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types
export const viewsQuery = (page: string) =>
  queryOptions({
    queryKey: ["views", page] as const,
    queryFn: async ({ signal }) => {
      const found: SavedView[] = [];
      let cursor: string | null | undefined;
      do {
        const next = await unwrap(api.GET("/api/v1/views", { params: { query: { page, limit: 200, cursor } }, signal }));
        found.push(...next.items);
        cursor = next.next_cursor;
      } while (cursor !== null);
      return found.toSorted((a, b) => a.name.localeCompare(b.name));
    },
  });

export const saveView = async (page: string, view: SavedViewChange): Promise<SavedView> => unwrap(api.POST("/api/v1/views", { body: { page, ...view } }));
export const changeView = async (id: number, view: SavedViewChange): Promise<SavedView> => unwrap(api.PUT("/api/v1/views/{view_id}", { params: { path: { view_id: id } }, body: view }));
export const deleteView = async (id: number): Promise<SavedView> => unwrap(api.DELETE("/api/v1/views/{view_id}", { params: { path: { view_id: id } } }));
