/** What is not needed for the first picture, loaded after it: the table, and what lies over the page. */

export { TablePane } from "../views/table/table.ts";
export { Sheets } from "./dialog-state.ts";
export { dialogs } from "./panels/dialogs.ts";
