/** Handles keys: cursor moves in the focused region, actions everywhere, arrow keys along a toolbar. */

import type { HeadName } from "../../state/state.ts";
import { type ActionContext, actionOf, moveCell } from "./actions.ts";
import { moveOf } from "./moves.ts";

/** What keys need besides actions. */
export interface Keyed extends ActionContext {
  /** Single-letter shortcuts are off: arrows, Enter, Escape and keys with Control still work. */
  readonly lettersOff: boolean;
  /** The names of the available actions; undefined: all. */
  readonly only: ReadonlySet<string> | undefined;
  readonly moveHead: (rows: number, columns: number) => HeadName | undefined;
}

const EDITS = "input:not([type=range]):not([type=checkbox]), textarea, select, [contenteditable]";

/** Handles a key; the event is consumed if it had an effect. */
export function press(keyed: Keyed, event: KeyboardEvent): void {
  const path = event.composedPath();
  const target = path[0] as HTMLElement;
  const inside = (selector: string) =>
    path.some((node) => node instanceof HTMLElement && node.matches(selector));
  if (event.defaultPrevented || inside("dialog")) return;
  const menu = target.closest<HTMLDetailsElement>(".more[open]");
  if (menu && event.key === "Escape") {
    event.preventDefault();
    menu.open = false;
    menu.querySelector("summary")!.focus();
    return;
  }
  const move = moveOf(event);
  const toolbar = target.closest<HTMLElement>("[role=toolbar]");
  if (toolbar && move && move[0] === 0 && !target.matches("input[type=text]")) {
    event.preventDefault();
    alongToolbar(toolbar, target, move[1]);
    return;
  }
  if (move && inside(".atlas")) {
    event.preventDefault();
    const head = keyed.moveHead(...move);
    if (head) keyed.session.set({ block: head.block, layer: head.layer, head: head.head }, "replace");
    return;
  }
  if (move && inside(".cursor-keys")) {
    event.preventDefault();
    moveCell(keyed, ...move);
    return;
  }
  const typing = target.matches(EDITS);
  if (typing && event.key !== "Escape" && !event.ctrlKey && !event.metaKey) return;
  const control = event.ctrlKey || event.metaKey;
  if (keyed.lettersOff && !control && event.key.length === 1 && event.key !== " ") return;
  // Enter and Space press buttons and open menus; elsewhere they pin.
  const presses = event.key === "Enter" || event.key === " ";
  if (presses && target.matches("button, summary, a, input, select")) return;
  const action = actionOf(event);
  if (action === undefined || keyed.only?.has(action.name) === false) return;
  if (action.when?.(keyed.session) === false) return;
  if (action.name === "back" && typing) {
    target.blur();
    keyed.focusMain();
  }
  event.preventDefault();
  action.run(keyed);
}

const STOPS = "button:not(:disabled), select, input, summary";

/** Only one control of a toolbar is in the tab order (roving tabindex); arrow keys move between them. */
export function rove(toolbar: HTMLElement, to?: HTMLElement): void {
  const all = [...toolbar.querySelectorAll<HTMLElement>(STOPS)];
  // Visibility is checked only when a control has changed: `offsetParent` forces a layout of the page.
  if (to === undefined && all.filter((stop) => stop.tabIndex === 0).length === 1) return;
  const stops = all.filter((stop) => stop.offsetParent !== null);
  const current = to ?? stops.find((stop) => stop.tabIndex === 0) ?? stops[0];
  for (const stop of stops) stop.tabIndex = stop === current ? 0 : -1;
}

function alongToolbar(toolbar: HTMLElement, from: HTMLElement, by: number): void {
  const stops = [...toolbar.querySelectorAll<HTMLElement>(STOPS)].filter(
    (stop) => stop.offsetParent !== null,
  );
  stops[Math.max(0, Math.min(stops.length - 1, stops.indexOf(from) + by))]?.focus();
}
