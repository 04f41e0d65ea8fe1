/** The parts of the flow view: its pane, and the column with settings, row sums and warning. */
import type { ViewParts } from "../view.ts";
import { FlowPane } from "./pane.ts";
import { flowSide } from "./side.ts";

export const parts: ViewParts = { pane: (context) => new FlowPane(context), inspector: flowSide };
