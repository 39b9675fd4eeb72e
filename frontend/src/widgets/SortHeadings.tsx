import type { ReactElement } from "react";

import type { Sorted, Sorting } from "@/lib/sorting";
import { SortHeading } from "@/ui/SortHeading";

export interface SortColumn<Order extends string> {
  order: Order;
  title: string;
  isFigure: boolean;
}

export interface SortHeadingsProps<Order extends string, Search extends Sorted<Order>> {
  columns: readonly SortColumn<Order>[];
  sorting: Sorting<Order>;
  search: Search;
  onSearch: (search: Search) => void;
}

/** Headings of a table that the server sorts as given in the URL. */
export function SortHeadings<Order extends string, Search extends Sorted<Order>>({ columns, sorting, search, onSearch }: SortHeadingsProps<Order, Search>): ReactElement {
  const sorted = sorting.isDescending(search) ? "descending" : "ascending";
  return (
    <>
      {columns.map(({ order, title, isFigure }) => (
        <SortHeading key={order} isFigure={isFigure} sorted={order === sorting.orderOf(search) ? sorted : null} onSort={() => onSearch(sorting.sortedBy(search, order))}>
          {title}
        </SortHeading>
      ))}
    </>
  );
}
