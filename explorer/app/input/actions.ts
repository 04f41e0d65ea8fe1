/**
 * All user actions by name: one list for the keyboard, the command palette and the list of shortcuts. An action changes the
 * session or calls the element; it has no state.
 */
import { placeOf, step } from "../../canvas/axis.ts";
import { stepAnswer } from "../../state/ask.ts";
import { headSetting, setHead } from "../../state/causes/ablation.ts";
import { largest } from "../../state/facts.ts";
import { stepBack, WITHOUT_TOKENS } from "../../state/select.ts";
import { STAGES, TRANSFERS, togglePin } from "../../state/state.ts";
import { head } from "../../views/head.ts";
import { DRAWINGS, PAGES, pageOf } from "../../views/registry.ts";
import { axesOf, hiddenKeys, type Session } from "../session.ts";
import { headBeside } from "./moves.ts";

/** Functions of the element that actions may call. */
export interface ActionContext {
  readonly session: Session;
  readonly zoom: (factor: number) => void;
  readonly follow: () => void;
  readonly say: (text: string) => void;
  readonly detail: () => void;
  readonly dialog: (name: "palette" | "keys" | "find" | "export" | "open" | "report" | "texts") => void;
  readonly focusMain: () => void;
  readonly focusHide: () => void;
  readonly copyLink: () => void;
  readonly sample: () => void;
  readonly theme: (name: "auto" | "light" | "dark") => void;
}

export interface Action {
  readonly name: string;
  readonly label: string;
  /** Values of `KeyboardEvent.key`; `Control+` also matches Command. */
  readonly keys?: readonly string[];
  readonly when?: (session: Session) => boolean;
  readonly run: (doer: ActionContext) => void;
}

const open = ({ store }: Session) => store !== undefined;
/** The page has the toolbar of one head. */
const inHead = ({ store, state }: Session) => store !== undefined && pageOf(state).layout.toolbar;

/** The next head, by layer and then by head, in the cursor's block. */
function byHeads({ session }: ActionContext, by: number): void {
  const { block, state } = session;
  const name = block && headBeside(block, state, by);
  if (name !== undefined) session.set(name);
}

function byLayers({ session }: ActionContext, by: number): void {
  const { block, state } = session;
  const layer = block?.layers[block.layers.indexOf(state.layer) + by];
  if (layer !== undefined) session.set({ layer });
}

function byBlocks({ session }: ActionContext): void {
  const { store, state } = session;
  if (store === undefined || store.blocks.length < 2) return;
  const at = store.blocks.findIndex(({ name }) => name === state.block);
  session.set({ ...WITHOUT_TOKENS, block: store.blocks[(at + 1) % store.blocks.length].name });
}

/** The next cell of the row by weight: weaker, or stronger. */
function byStrength(doer: ActionContext, by: number): void {
  const { session } = doer;
  const { block, state } = session;
  if (block === undefined || !session.ready) return;
  const row = session.row(state.query, state.stage);
  const hidden = new Set(hiddenKeys(block, state));
  const { columns } = axesOf(block, state);
  const visible = session.store!.visible(session.ref, state.query);
  const order = largest(row, row.length).filter(
    (key) => visible[key] === 1 && !hidden.has(key) && placeOf(columns, key) !== undefined,
  );
  const at = order.indexOf(state.key);
  const next = at < 0 ? 0 : at + by;
  if (order[next] === undefined) return;
  session.set({ key: order[next] }, "replace");
  doer.follow();
}

/** Moves the cursor by cells. */
export function moveCell({ session, follow }: ActionContext, rows: number, columns: number): void {
  const { block, state } = session;
  if (block === undefined) return;
  const axes = axesOf(block, state);
  session.hover = null;
  session.set(
    { query: step(axes.rows, state.query, rows), key: step(axes.columns, state.key, columns) },
    "replace",
  );
  follow();
}

/** Opens the page that Enter leads to; else pins the cursor's cell, or unpins it. */
function pinCell({ session }: ActionContext): void {
  const { pinned: pinnedCell, query, key } = session.state;
  const { down } = pageOf(session.state);
  if (down) session.set({ view: down });
  else session.set({ pinned: pinnedCell?.[0] === query && pinnedCell[1] === key ? null : [query, key] });
}

function back(doer: ActionContext): void {
  const { session } = doer;
  // Messages are above the picture: they close first.
  if (session.notices.length > 0) {
    for (const notice of session.notices) session.dismiss(notice);
    doer.say("Messages closed");
    return;
  }
  if (session.state.edits.length > 0 || session.state.temperature !== 1) {
    session.set({ edits: [], temperature: 1 });
    doer.say("Numbers restored");
    return;
  }
  const { up } = pageOf(session.state);
  const patch = stepBack(session.state, up);
  if (patch) session.set(patch);
  if (patch?.view) doer.focusMain();
}

/** A row of the table: no keys where it has none; `when` says where it can run. */
type Row = readonly [
  name: string,
  label: string,
  keys: readonly string[],
  when: (session: Session) => boolean,
  run: (doer: ActionContext) => void,
];

const always = () => true;
const asks = ({ state }: Session) => state.ask !== "off";
const opens =
  (name: Parameters<ActionContext["dialog"]>[0]) =>
  ({ dialog }: ActionContext) =>
    dialog(name);
/** Turns a part of the state on or off. */
const turns =
  (part: "values" | "renormalize" | "table") =>
  ({ session }: ActionContext) =>
    session.set({ [part]: !session.state[part] });

const BEFORE: readonly Row[] = [
  ["palette", "All commands", ["Control+k"], always, opens("palette")],
  ["keys", "Keyboard", ["?"], always, opens("keys")],
  ["open", "Open a file", ["o"], always, opens("open")],
  ["sample", "Open the sample", [], always, ({ sample }) => sample()],
  ["report", "What was loaded", [], open, opens("report")],
  ["texts", "Heads over many texts", [], always, opens("texts")],
];

const PICTURES: readonly Row[] = [
  ...PAGES.map(
    ({ name, command, key, when }): Row => [
      `open-${name}`,
      command,
      key === undefined ? [] : [key],
      (session) => open(session) && when?.(session) !== false,
      ({ session }) => session.set({ view: name }),
    ],
  ),
  ...DRAWINGS.map(
    ({ name, command, key, fits }): Row => [
      name,
      command,
      key === undefined ? [] : [key],
      ({ block }) => block !== undefined && fits?.(block) !== false,
      ({ session }) => session.set({ mode: name, view: head.name }),
    ],
  ),
  ...STAGES.map(
    (stage, i): Row => [
      stage,
      `Stage: ${stage}`,
      [String(i + 1)],
      ({ block }) => block?.stages.includes(stage) ?? false,
      ({ session }) => session.set({ stage }),
    ],
  ),
  ...TRANSFERS.map(
    (transfer): Row => [
      `scale-${transfer}`,
      `Color scale: ${transfer === "sqrt" ? "square root" : transfer}`,
      [],
      inHead,
      ({ session }) => session.set({ transfer }),
    ],
  ),
];

const AFTER: readonly Row[] = [
  ["pin", "Pin this cell", ["Enter", " "], open, pinCell],
  ["back", "Back", ["Escape"], open, back],
  ["next-head", "Next head", ["]"], open, (doer) => byHeads(doer, 1)],
  ["previous-head", "Previous head", ["["], open, (doer) => byHeads(doer, -1)],
  ["next-layer", "Next layer", ["}"], open, (doer) => byLayers(doer, 1)],
  ["previous-layer", "Previous layer", ["{"], open, (doer) => byLayers(doer, -1)],
  ["next-block", "Next block", ["b"], ({ store }) => (store?.blocks.length ?? 0) > 1, byBlocks],
  ["weaker", "Next strongest key of the row", ["n"], open, (doer) => byStrength(doer, 1)],
  ["stronger", "Next stronger key of the row", ["N"], open, (doer) => byStrength(doer, -1)],
  [
    "pin-head",
    "Pin this head (A to F)",
    ["p"],
    open,
    ({ session }) => session.set({ pins: togglePin(session.state.pins, session.state) }),
  ],
  [
    "ask",
    "Ask the heads: which link these two words?",
    ["a"],
    open,
    ({ session }) => session.set({ ask: asks(session) ? "off" : "pair" }),
  ],
  ["next-answer", "Next head of the ranking", ["."], asks, ({ session }) => stepAnswer(session, 1)],
  ["previous-answer", "Previous head of the ranking", [","], asks, ({ session }) => stepAnswer(session, -1)],
  [
    "switch-head",
    "Switch this head off, or on again",
    ["k"],
    ({ store, model }) => store !== undefined && model !== undefined,
    ({ session }) => setHead(session, headSetting(session.state) === "on" ? "off" : "on"),
  ],
  ["zoom-in", "Zoom in", ["+", "="], open, ({ zoom }) => zoom(Math.SQRT2)],
  ["zoom-out", "Zoom out", ["-"], open, ({ zoom }) => zoom(Math.SQRT1_2)],
  ["zoom-reset", "Zoom to fit", ["0"], open, ({ zoom }) => zoom(0)],
  ["values", "Print values in cells", ["v"], inHead, turns("values")],
  ["hide", "Leave out tokens", ["h"], inHead, ({ focusHide }) => focusHide()],
  ["renormalize", "Rescale the remaining weights to 100 %", [], inHead, turns("renormalize")],
  ["table", "Show as a table", ["t"], open, turns("table")],
  ["detail", "Read the cell step by step", ["d"], open, ({ detail }) => detail()],
  ["find", "Find a token", ["/"], open, opens("find")],
  ["export", "Export a figure", ["e"], open, opens("export")],
  ["link", "Copy a link to this", [], open, ({ copyLink }) => copyLink()],
  [
    "unselect",
    "Clear the selection",
    [],
    ({ state }) => state.rows.length + state.columns.length > 0,
    ({ session }) => session.set({ rows: [], columns: [] }),
  ],
  [
    "hide-chosen",
    "Leave out the selected keys",
    [],
    ({ state }) => state.columns.length > 0,
    ({ session }) => session.set({ hide: "chosen", hidden: session.state.columns, columns: [] }),
  ],
  ["light", "Light theme", [], always, ({ theme }) => theme("light")],
  ["dark", "Dark theme", [], always, ({ theme }) => theme("dark")],
  ["auto", "System theme", [], always, ({ theme }) => theme("auto")],
];

export const ACTIONS: readonly Action[] = [...BEFORE, ...PICTURES, ...AFTER].map(
  ([name, label, keys, when, run]) => ({ name, label, ...(keys.length > 0 && { keys }), when, run }),
);

/** The action of a key event; undefined if the key has none. */
export function actionOf(event: KeyboardEvent): Action | undefined {
  if (event.altKey) return undefined;
  const control = event.ctrlKey || event.metaKey;
  const key = control ? `Control+${event.key.toLowerCase()}` : event.key;
  return ACTIONS.find(({ keys }) => keys?.includes(key));
}
