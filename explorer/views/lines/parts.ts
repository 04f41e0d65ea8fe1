/** The parts of the lines view: pane, controls, legend. */
import type { ViewParts } from "../view.ts";
import { linesControls, linesLegend } from "./controls.ts";
import type { Lines } from "./lines.ts";
import { createLines } from "./pointing.ts";

export const parts: ViewParts = {
  pane: createLines,
  controls: linesControls,
  legend: (session, pane) => linesLegend(session, (pane as Lines | undefined)?.stroke),
};
