/** The parts of the row view. */
import type { ViewParts } from "../view.ts";
import { rowView } from "./row.ts";
import { keysTable } from "./table.ts";

export const parts: ViewParts = { content: rowView, table: keysTable };
