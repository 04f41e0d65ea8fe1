/** Rollout as a view: its picture, and the column with its settings, row sums and warning. */
import type { ViewParts } from "../view.ts";
import { FlowPane } from "./pane.ts";
import { flowSide } from "./side.ts";

export const parts: ViewParts = { pane: (context) => new FlowPane(context), side: flowSide };
