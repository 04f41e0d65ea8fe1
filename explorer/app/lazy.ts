/** Modules that are loaded after the first picture: the table, the dialogs, and the panels that rank and switch heads. */

export { commandFor, measureTexts } from "../state/over-texts.ts";
export { rowsTable } from "../state/tables.ts";
export { later } from "../styles/later.ts";
export { TablePane } from "../views/table/table.ts";
export { Sheets } from "./dialog-state.ts";
export { askPanel } from "./panels/ask.ts";
export { ablationPanel } from "./panels/causes/ablation.ts";
export { causesPanel } from "./panels/causes/causes.ts";
export { continuationPanel } from "./panels/causes/continuation.ts";
export { whyPanel } from "./panels/causes/why.ts";
export { dialogs } from "./panels/dialogs.ts";
