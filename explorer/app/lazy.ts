/** What is not needed for the first picture, loaded after it: the table and the dialogs. */

export { later } from "../styles/later.ts";
export { TablePane } from "../views/table/table.ts";
export { Sheets } from "./dialog-state.ts";
export { ablationPanel } from "./panels/ablation.ts";
export { askPanel } from "./panels/ask.ts";
export { dialogs } from "./panels/dialogs.ts";
