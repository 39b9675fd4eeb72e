import { useQuery } from "@tanstack/react-query";

import { meQuery } from "@/api/me";

import { refusalOf, type Scope } from "./refusal";

/** Why the user cannot do what a scope permits; null: allowed. */
export function useRefusal(scope: Scope): string | null {
  const { data: me } = useQuery(meQuery());
  return me === undefined ? null : refusalOf(me, scope);
}
