/** Modules that are loaded after the first picture: the table, the dialogs, and the panels that rank and switch heads. */

export { rowsTable } from "../state/tables.ts";
export { later } from "../styles/later.ts";
export { TablePane } from "../views/table/table.ts";
export { Sheets } from "./dialog-state.ts";
export { ablationPanel } from "./panels/ablation.ts";
export { askPanel } from "./panels/ask.ts";
export { causesPanel } from "./panels/causes.ts";
export { continuationPanel } from "./panels/continuation.ts";
export { dialogs } from "./panels/dialogs.ts";
export { whyPanel } from "./panels/why.ts";
