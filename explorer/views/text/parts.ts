/** The parts of the text view: pane, controls, legend. */
import { legend } from "../../app/panels/legend.ts";
import type { ViewParts } from "../view.ts";
import { textControls } from "./controls.ts";
import { TextPane } from "./pane.ts";

export const parts: ViewParts = {
  pane: (context) => new TextPane(context),
  controls: textControls,
  legend: (session, pane) => legend(session, (pane as TextPane | undefined)?.domain),
};
