/** What is not needed for the first picture, loaded behind it: lines, text, tables, the row in full, and what lies over the page. */

export { linesControls, linesLegend } from "../views/lines/controls.ts";
export { Lines } from "../views/lines/lines.ts";
export { rowView } from "../views/row/row.ts";
export { TablePane } from "../views/table/table.ts";
export { textControls } from "../views/text/controls.ts";
export { TextPane } from "../views/text/pane.ts";
export { Sheets } from "./dialog-state.ts";
export { dialogs } from "./panels/dialogs.ts";
