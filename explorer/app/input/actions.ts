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
  session.set({
    ...WITHOUT_TOKENS,
    block: store.blocks[(at + 1) % store.blocks.length].name,
  });
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

export const ACTIONS: readonly Action[] = [
  { name: "palette", label: "All commands", keys: ["Control+k"], run: ({ dialog }) => dialog("palette") },
  { name: "keys", label: "Keyboard", keys: ["?"], run: ({ dialog }) => dialog("keys") },
  { name: "open", label: "Open a file", keys: ["o"], run: ({ dialog }) => dialog("open") },
  { name: "sample", label: "Open the sample", run: ({ sample }) => sample() },
  { name: "report", label: "What was loaded", when: open, run: ({ dialog }) => dialog("report") },
  { name: "texts", label: "Heads over many texts", run: ({ dialog }) => dialog("texts") },
  ...PAGES.map(
    ({ name, command, key, when }): Action => ({
      name: `open-${name}`,
      label: command,
      ...(key !== undefined && { keys: [key] }),
      when: (session) => open(session) && when?.(session) !== false,
      run: ({ session }) => session.set({ view: name }),
    }),
  ),
  ...DRAWINGS.map(
    ({ name, command, key, fits }): Action => ({
      name,
      label: command,
      ...(key !== undefined && { keys: [key] }),
      when: ({ block }) => block !== undefined && fits?.(block) !== false,
      run: ({ session }) => session.set({ mode: name, view: head.name }),
    }),
  ),
  ...STAGES.map(
    (stage, i): Action => ({
      name: stage,
      label: `Stage: ${stage}`,
      keys: [String(i + 1)],
      when: ({ block }) => block?.stages.includes(stage) ?? false,
      run: ({ session }) => session.set({ stage }),
    }),
  ),
  ...TRANSFERS.map(
    (transfer): Action => ({
      name: `scale-${transfer}`,
      label: `Color scale: ${transfer === "sqrt" ? "square root" : transfer}`,
      when: inHead,
      run: ({ session }) => session.set({ transfer }),
    }),
  ),
  {
    name: "pin",
    label: "Pin this cell",
    keys: ["Enter", " "],
    when: open,
    run: pinCell,
  },
  {
    name: "back",
    label: "Back",
    keys: ["Escape"],
    when: open,
    run: back,
  },
  { name: "next-head", label: "Next head", keys: ["]"], when: open, run: (doer) => byHeads(doer, 1) },
  {
    name: "previous-head",
    label: "Previous head",
    keys: ["["],
    when: open,
    run: (doer) => byHeads(doer, -1),
  },
  { name: "next-layer", label: "Next layer", keys: ["}"], when: open, run: (doer) => byLayers(doer, 1) },
  {
    name: "previous-layer",
    label: "Previous layer",
    keys: ["{"],
    when: open,
    run: (doer) => byLayers(doer, -1),
  },
  {
    name: "next-block",
    label: "Next block",
    keys: ["b"],
    when: ({ store }) => (store?.blocks.length ?? 0) > 1,
    run: byBlocks,
  },
  {
    name: "weaker",
    label: "Next strongest key of the row",
    keys: ["n"],
    when: open,
    run: (doer) => byStrength(doer, 1),
  },
  {
    name: "stronger",
    label: "Next stronger key of the row",
    keys: ["N"],
    when: open,
    run: (doer) => byStrength(doer, -1),
  },
  {
    name: "pin-head",
    label: "Pin this head (A to F)",
    keys: ["p"],
    when: open,
    run: ({ session }) => session.set({ pins: togglePin(session.state.pins, session.state) }),
  },
  {
    name: "ask",
    label: "Ask the heads: which link these two words?",
    keys: ["a"],
    when: open,
    run: ({ session }) => session.set({ ask: session.state.ask === "off" ? "pair" : "off" }),
  },
  {
    name: "next-answer",
    label: "Next head of the ranking",
    keys: ["."],
    when: ({ state }) => state.ask !== "off",
    run: ({ session }) => stepAnswer(session, 1),
  },
  {
    name: "previous-answer",
    label: "Previous head of the ranking",
    keys: [","],
    when: ({ state }) => state.ask !== "off",
    run: ({ session }) => stepAnswer(session, -1),
  },
  {
    name: "switch-head",
    label: "Switch this head off, or on again",
    keys: ["k"],
    when: ({ store, model }) => store !== undefined && model !== undefined,
    run: ({ session }) => setHead(session, headSetting(session.state) === "on" ? "off" : "on"),
  },
  { name: "zoom-in", label: "Zoom in", keys: ["+", "="], when: open, run: ({ zoom }) => zoom(Math.SQRT2) },
  { name: "zoom-out", label: "Zoom out", keys: ["-"], when: open, run: ({ zoom }) => zoom(Math.SQRT1_2) },
  { name: "zoom-reset", label: "Zoom to fit", keys: ["0"], when: open, run: ({ zoom }) => zoom(0) },
  {
    name: "values",
    label: "Print values in cells",
    keys: ["v"],
    when: inHead,
    run: ({ session }) => session.set({ values: !session.state.values }),
  },
  { name: "hide", label: "Leave out tokens", keys: ["h"], when: inHead, run: ({ focusHide }) => focusHide() },
  {
    name: "renormalize",
    label: "Rescale the remaining weights to 100 %",
    when: inHead,
    run: ({ session }) => session.set({ renormalize: !session.state.renormalize }),
  },
  {
    name: "table",
    label: "Show as a table",
    keys: ["t"],
    when: open,
    run: ({ session }) => session.set({ table: !session.state.table }),
  },
  {
    name: "detail",
    label: "Read the cell step by step",
    keys: ["d"],
    when: open,
    run: ({ detail }) => detail(),
  },
  { name: "find", label: "Find a token", keys: ["/"], when: open, run: ({ dialog }) => dialog("find") },
  {
    name: "export",
    label: "Export a figure",
    keys: ["e"],
    when: open,
    run: ({ dialog }) => dialog("export"),
  },
  { name: "link", label: "Copy a link to this", when: open, run: ({ copyLink }) => copyLink() },
  {
    name: "unselect",
    label: "Clear the selection",
    when: ({ state }) => state.rows.length + state.columns.length > 0,
    run: ({ session }) => session.set({ rows: [], columns: [] }),
  },
  {
    name: "hide-chosen",
    label: "Leave out the selected keys",
    when: ({ state }) => state.columns.length > 0,
    run: ({ session }) => session.set({ hide: "chosen", hidden: session.state.columns, columns: [] }),
  },
  { name: "light", label: "Light theme", run: ({ theme }) => theme("light") },
  { name: "dark", label: "Dark theme", run: ({ theme }) => theme("dark") },
  { name: "auto", label: "System theme", run: ({ theme }) => theme("auto") },
];

/** The action of a key event; undefined if the key has none. */
export function actionOf(event: KeyboardEvent): Action | undefined {
  if (event.altKey) return undefined;
  const control = event.ctrlKey || event.metaKey;
  const key = control ? `Control+${event.key.toLowerCase()}` : event.key;
  return ACTIONS.find(({ keys }) => keys?.includes(key));
}
