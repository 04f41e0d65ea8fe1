/** The dialogs: command palette, keyboard shortcuts, find a token, load report, export. */
import { html, nothing, type TemplateResult } from "lit";
import { nearest } from "../../canvas/axis.ts";
import { ACTIONS, type Action } from "../input/actions.ts";
import { axesOf } from "../session.ts";
import { token, type Ui, withCode } from "../ui.ts";
import { type Exporter, exportSheet } from "./export.ts";
import { textsSheet } from "./texts.ts";

export type DialogName = "palette" | "keys" | "find" | "export" | "report" | "texts";

/** The state of an open dialog. */
export interface DialogState {
  readonly name: DialogName;
  readonly query: string;
  readonly chosen: number;
}

export interface Dialogs {
  readonly state: DialogState | undefined;
  readonly set: (patch: Partial<DialogState>) => void;
  readonly close: () => void;
  readonly exporter: Exporter;
}

const TITLES: Readonly<Record<DialogName, string>> = {
  palette: "All commands",
  keys: "Keyboard",
  find: "Find a token",
  export: "Export",
  report: "What was loaded",
  texts: "Heads over many texts",
};

export function dialogs(ui: Ui, { state, set, close, exporter }: Dialogs): TemplateResult | typeof nothing {
  if (state === undefined) return nothing;
  const inside = {
    palette: () => palette(ui, state, set, close),
    keys: () => keySheet(),
    find: () => find(ui, state, set, close),
    export: () => exportSheet(ui, exporter),
    report: () => report(ui),
    texts: () => textsSheet(ui, close),
  };
  return html`<dialog part="dialog" aria-labelledby="dialog-title" @close=${(event: Event) => {
    // The event is asynchronous: its dialog may have been replaced already. For Escape, "cancel" comes first, before the page can change.
    const { open, isConnected } = event.target as HTMLDialogElement;
    if (!open && isConnected) close();
  }} @cancel=${close} @click=${(event: MouseEvent) => {
    if (event.target === event.currentTarget) close();
  }}>
    <div class="dialog"><p class="closing"><button type="button" class="bordered" aria-label="Close" @click=${close}>×</button></p>
    <h2 id="dialog-title">${TITLES[state.name]}</h2>${inside[state.name]()}</div>
  </dialog>`;
}

interface Choice {
  readonly text: TemplateResult | string;
  readonly hint?: string;
  readonly run: (shift: boolean) => void;
}

/** A text field with a list of choices below; arrow keys move through the list. */
function chooser(
  label: string,
  state: DialogState,
  set: Dialogs["set"],
  choices: readonly Choice[],
  more: TemplateResult | typeof nothing = nothing,
): TemplateResult {
  const at = Math.min(state.chosen, choices.length - 1);
  const press = (event: KeyboardEvent) => {
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (by !== 0) {
      event.preventDefault();
      set({ chosen: Math.max(0, Math.min(choices.length - 1, at + by)) });
    } else if (event.key === "Enter") {
      event.preventDefault();
      choices[at]?.run(event.shiftKey);
    }
  };
  return html`<input type="text" class="search" role="combobox" aria-label=${label} aria-expanded="true" aria-controls="choices"
      aria-autocomplete="list" aria-activedescendant=${at >= 0 ? `choice-${at}` : nothing} autofocus spellcheck="false" autocomplete="off"
      .value=${state.query} @keydown=${press} @input=${(event: Event) => set({ query: (event.target as HTMLInputElement).value, chosen: 0 })}>
    ${more}
    <ul class="choices" role="listbox" id="choices" aria-label=${label}>${choices.map(
      (
        { text, hint, run },
        i,
      ) => html`<li role="option" id=${`choice-${i}`} aria-selected=${i === at} class=${i === at ? "at" : ""}
        @click=${(event: MouseEvent) => run(event.shiftKey)}><span>${text}</span>${hint ? html`<kbd>${hint}</kbd>` : nothing}</li>`,
    )}</ul>
    ${choices.length === 0 ? html`<p class="quiet" role="status">No match.</p>` : nothing}`;
}

function palette(ui: Ui, state: DialogState, set: Dialogs["set"], close: () => void): TemplateResult {
  const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = ({ label, name, when }: Action) =>
    name !== "palette" &&
    when?.(ui.session) !== false &&
    words.every((word) => `${label} ${name}`.toLowerCase().includes(word));
  const choices = ACTIONS.filter(fits).map(({ name, label, keys }) => ({
    text: label,
    hint: keys?.[0] && keyName(keys[0]),
    run: () => {
      close();
      ui.act(name);
    },
  }));
  return chooser("Search commands", state, set, choices);
}

const keyName = (key: string) =>
  ({ " ": "Space", Escape: "Esc", "Control+k": "Ctrl K", N: "Shift N" })[key] ??
  (key.length === 1 ? key.toUpperCase() : key);

/** Cursor moves, which are not actions, for the list of shortcuts. */
const MOVES: readonly (readonly [string, string])[] = [
  ["← ↑ ↓ →", "Move the cell, or the head"],
  ["Home End", "Ends of the row; with Ctrl the corners"],
  ["PgUp PgDn", "16 rows"],
];

function keySheet(): TemplateResult {
  return html`<dl class="keylist">${MOVES.map(([key, label]) => html`<div><dt><kbd>${key}</kbd></dt><dd>${label}</dd></div>`)}
    ${ACTIONS.filter(({ keys }) => keys).map(
      ({ keys, label }) =>
        html`<div><dt>${keys!.map((key) => html`<kbd>${keyName(key)}</kbd> `)}</dt><dd>${label}</dd></div>`,
    )}</dl>
    <p>With the pointer: hover previews, a click pins, a click with Ctrl or ⌘ adds, with Shift selects a range. Dragging selects a rectangle, or moves a zoomed picture, in which dragging with Shift selects. The wheel zooms.</p>`;
}

const FOUND = 50;

function find({ session }: Ui, state: DialogState, set: Dialogs["set"], close: () => void): TemplateResult {
  const { block } = session;
  if (block === undefined) return html``;
  const names = session.labels(block);
  const wanted = state.query.toLowerCase();
  const choices: Choice[] = [];
  const axes = axesOf(block, session.state);
  const same = block.queryTokens === block.keyTokens || names.query === names.key;
  for (const role of same ? (["query"] as const) : (["query", "key"] as const))
    names[role].forEach((name, index) => {
      if (choices.length >= FOUND || !name.toLowerCase().includes(wanted)) return;
      choices.push({
        text: html`${token(name, names.lang[role])} <span class="quiet">${same ? "" : role} ${index}</span>`,
        run: (shift) => {
          close();
          const asKey = shift || role === "key";
          session.set(asKey ? { key: nearest(axes.columns, index) } : { query: nearest(axes.rows, index) });
        },
      });
    });
  return chooser(
    "Part of a token",
    state,
    set,
    choices,
    html`<p class="quiet">Enter: as the query${same ? "; Shift and Enter: as the key" : ""}.</p>`,
  );
}

function report({ session }: Ui): TemplateResult {
  const loadReport = session.store?.report;
  if (loadReport === undefined) return html`<p>Nothing is open.</p>`;
  return html`<ul class="sentences">${loadReport.sentences.map((sentence) => html`<li>${withCode(sentence)}</li>`)}</ul>
    ${
      loadReport.problems.length > 0
        ? html`<h3>Noticed</h3><ul class="sentences">${loadReport.problems.map(({ severity, text }) => html`<li><span class="badge">${severity}</span> ${withCode(text)}</li>`)}</ul>`
        : html`<p class="quiet">No problems were found.</p>`
    }`;
}
