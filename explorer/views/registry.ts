/** All views, in the order of their buttons. To add one: a folder with a `view.ts`, and a line here. */
import type { State } from "../state/state.ts";
import { compare } from "./compare/view.ts";
import { flow } from "./flow/view.ts";
import { head } from "./head.ts";
import { lines } from "./lines/view.ts";
import { matrix } from "./matrix/view.ts";
import { model } from "./model/view.ts";
import { row } from "./row/view.ts";
import { text } from "./text/view.ts";
import type { View } from "./view.ts";

export const VIEWS: readonly View[] = [model, head, matrix, lines, text, row, compare, flow];

/** Views that are pages, and views that draw one head. */
export const PAGES: readonly View[] = VIEWS.filter(({ place }) => place === "page");
export const DRAWINGS: readonly View[] = VIEWS.filter(({ place }) => place === "head");

/** The page of a state. */
export const pageOf = ({ view }: Pick<State, "view">): View =>
  PAGES.find(({ name }) => name === view) ?? head;

/** The view that draws a state: its page, or, on the page of one head, the drawing of its mode. */
export function viewOf(state: Pick<State, "view" | "mode">): View {
  const page = pageOf(state);
  return page === head ? (DRAWINGS.find(({ name }) => name === state.mode) ?? matrix) : page;
}

/** A change of the state without names that no view has. */
export function withKnownViews({ view, mode, ...rest }: Partial<State>): Partial<State> {
  const has = (views: readonly View[], name: string | undefined) => views.some((one) => one.name === name);
  return { ...rest, ...(has(PAGES, view) && { view }), ...(has(DRAWINGS, mode) && { mode }) };
}

/** Whether the numbers of a row can be changed on the page of a state. */
export const isEditable = (state: Pick<State, "view">): boolean => pageOf(state).editable === true;
