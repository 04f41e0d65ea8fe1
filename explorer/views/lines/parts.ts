/** The parts of the lines view: pane, controls, legend. */
import type { ViewParts } from "../view.ts";
import { linesControls, linesLegend } from "./controls.ts";
import { Lines } from "./lines.ts";

export const parts: ViewParts = {
  pane: (context) => new Lines(context),
  controls: linesControls,
  legend: (session, pane) => linesLegend(session, (pane as Lines | undefined)?.stroke),
};
