/** The order of a table in the URL. */
export interface Sorted<Order extends string> {
  order?: Order | undefined;
  /** Absent: the direction that this order starts with. */
  direction?: "up" | "down" | undefined;
}

/** How a table is sorted: as the URL says, else by its default order. */
export interface Sorting<Order extends string> {
  orderOf: (search: Sorted<Order>) => Order;
  isDescending: (search: Sorted<Order>) => boolean;
  /** After a press on a column's heading: another order, or the same the other way round. */
  sortedBy: <Search extends Sorted<Order>>(search: Search, order: Order) => Search;
}

/** `startsUp`: words start with A, figures with the most. */
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
