/** The parts of the text view: pane, controls, legend. */
import { legend } from "../../app/panels/legend.ts";
import type { ViewParts } from "../view.ts";
import { textControls } from "./controls.ts";
import type { TextPane } from "./pane.ts";
import { createText } from "./pointing.ts";

export const parts: ViewParts = {
  pane: createText,
  controls: textControls,
  legend: (session, pane) => legend(session, (pane as TextPane | undefined)?.domain),
};
