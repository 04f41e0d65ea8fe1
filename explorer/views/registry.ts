/** All views, in the order of their buttons. To add one: a folder with a `view.ts`, and a line here. */
import type { Block } from "../../src/store/block.ts";
import { DEFAULT, type State } from "../state/state.ts";
import { compare } from "./compare/view.ts";
import { flow } from "./flow/view.ts";
import { head } from "./head.ts";
import { lines } from "./lines/view.ts";
import { matrix } from "./matrix/view.ts";
import { model } from "./model/view.ts";
import { photo } from "./photo/view.ts";
import { row } from "./row/view.ts";
import { states } from "./states/view.ts";
import { text } from "./text/view.ts";
import type { View } from "./view.ts";

// biome-ignore format: one line, however many
export const VIEWS: readonly View[] = [model, head, matrix, photo, lines, text, row, compare, flow, states];

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

/** Whether the drawing of this name can draw a block. */
export const canDraw = (name: string, block: Block): boolean =>
  DRAWINGS.find((one) => one.name === name)?.fits?.(block) !== false;

/** How a state that names no cell opens a block that a drawing was made for. */
export function openingOf({
  block,
  state,
}: {
  readonly block?: Block;
  readonly state: State;
}): Partial<State> {
  const isNew = state.mode === DEFAULT.mode && state.query + state.key === 0;
  const drawing = block && isNew ? DRAWINGS.find(({ fits }) => fits?.(block) === true) : undefined;
  return drawing ? { mode: drawing.name, ...drawing.start } : {};
}

/** Whether the numbers of a row can be changed on the page of a state. */
export const isEditable = (state: Pick<State, "view">): boolean => pageOf(state).editable === true;
