/** The parts of the photo view: pane, controls, legend. */
import { legend } from "../../app/panels/legend.ts";
import { directionChoice } from "../text/controls.ts";
import { withInput } from "../text/pointing.ts";
import type { ViewParts } from "../view.ts";
import { PhotoPane } from "./pane.ts";

export const parts: ViewParts = {
  pane: (context) => withInput(new PhotoPane(context)),
  controls: directionChoice,
  legend: (session, pane) => legend(session, (pane as PhotoPane | undefined)?.domain),
};
