import { createContext } from "react";

/** How many incidents are open, as the tab's title says it: "3", "50+"; null: none, or not known yet. */
export const OpenCount = createContext<string | null>(null);
