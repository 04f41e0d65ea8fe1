/** What is not needed for the first picture, loaded behind it: lines, text, tables, the row in full, and what lies over the page. */
export { Lines } from "./draw/lines.ts";
export { Sheets } from "./sheets.ts";
export { dialogs } from "./views/dialogs.ts";
export { linesControls, linesLegend } from "./views/lines.ts";
export { rowView } from "./views/row.ts";
export { TablePane } from "./views/table.ts";
export { textControls } from "./views/text.ts";
export { TextPane } from "./views/text-pane.ts";
