/** The order of a table in the URL. */
export interface Sorted<Order extends string> {
  order?: Order | undefined;
  /** Absent: the column's initial direction. */
  direction?: "up" | "down" | undefined;
}

/** The order of a table: from the URL, or its default. */
export interface Sorting<Order extends string> {
  orderOf: (search: Sorted<Order>) => Order;
  isDescending: (search: Sorted<Order>) => boolean;
  /** The order after a click on a heading: another column, or the opposite direction. */
  sortedBy: <Search extends Sorted<Order>>(search: Search, order: Order) => Search;
}

/** `startsUp`: text starts with A, figures start with the highest. */
export function sorting<Order extends string>(byDefault: Order, startsUp: readonly Order[]): Sorting<Order> {
  const orderOf = ({ order }: Sorted<Order>): Order => order ?? byDefault;
  const isDescending = (search: Sorted<Order>): boolean => (search.direction === undefined ? !startsUp.includes(orderOf(search)) : search.direction === "down");
  return {
    orderOf,
    isDescending,
    sortedBy: (search, order) => {
      const isPressedAgain = orderOf(search) === order && search.direction === undefined;
      const direction = isPressedAgain ? (isDescending(search) ? "up" : "down") : undefined;
      return { ...search, order: order === byDefault ? undefined : order, direction };
    },
  };
}
