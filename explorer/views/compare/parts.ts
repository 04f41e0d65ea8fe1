/** The parts of the compare view. */
import type { ViewParts } from "../view.ts";
import { ComparePane } from "./pane.ts";

export const parts: ViewParts = { pane: (context) => new ComparePane(context) };
