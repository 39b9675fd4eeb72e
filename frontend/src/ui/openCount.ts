import { createContext } from "react";

/** Number of open incidents for the tab's title: "3", "50+"; null: none, or not loaded yet. */
export const OpenCount = createContext<string | null>(null);
