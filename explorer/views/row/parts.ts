/** The parts of the row view. */
import type { ViewParts } from "../view.ts";
import { rowView } from "./row.ts";

export const parts: ViewParts = { content: rowView };
