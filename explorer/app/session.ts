/**
 * One element's session: the state, the store that is shown, and values that are not part of the state, such as the hovered
 * cell. Views read the session and change it; the session notifies its subscribers.
 */

import type { Block, HeadRef, Stage } from "../../src/store/block.ts";
import type { Edits, HeadStore } from "../../src/store/head-store.ts";
import type { HeadMeasures } from "../../src/store/measures/measures.ts";
import { isSigned } from "../../src/store/measures/transfer.ts";
import { piecesOf, visible } from "../../src/store/text/tokens.ts";
import type { SourceModel, TextReader } from "../../src/view/element.ts";
import type { DrawnFigure } from "../../src/view/figure/drawn.ts";
import type { FigureOptions } from "../../src/view/figure/options.ts";
import type { FigureTable } from "../../src/view/figure/table.ts";
import { type Axis, axisOf, nearest } from "../canvas/axis.ts";
import { cached } from "../canvas/cached.ts";
import { StoreAnswers } from "../state/answers.ts";
import { DEFAULT, type HeadName, namedParts, type State, sameHead } from "../state/state.ts";
import type { Opening } from "./sources.ts";

/** Whether something is open, loading, or could not be opened. */
export type Status =
  | { readonly kind: "empty" }
  | { readonly kind: "loading"; readonly what: string; readonly done: number }
  | { readonly kind: "ready" }
  | { readonly kind: "error"; readonly title: string; readonly text: string };

/** A message that stays on the page until the user closes it. */
export interface Notice {
  readonly kind: "error" | "problem";
  readonly text: string;
  /** It is about the page around, and stays when another file opens. */
  readonly stays?: boolean;
}

/** How the state changed: `push` makes a step that Back undoes, `replace` does not (drags), `address` was read from the address. */
export type How = "push" | "replace" | "address";
export interface TokenPair {
  readonly query: number;
  readonly key: number;
}

/** Whether a token is a query or a key. */
export type TokenRole = "query" | "key";

/** The labels of a block's tokens. */
export interface TokenLabels {
  readonly query: readonly string[];
  readonly key: readonly string[];
  /** Their languages, if the file names them. */
  readonly lang: { readonly query?: string; readonly key?: string };
}

/** How a picture is exported that shows neither one head nor all heads. */
export interface Exports {
  readonly figure: (options: FigureOptions) => Promise<DrawnFigure>;
  readonly table: () => Promise<FigureTable>;
}

type Listener = (how: How, before: State) => void;

export class Session {
  state: State = DEFAULT;
  store: HeadStore | undefined;
  status: Status = { kind: "empty" };
  /** The files or texts that can be shown. */
  sources: readonly { readonly name: string; readonly model?: SourceModel; readonly open?: Opening }[] = [];
  /** Errors and warnings that the user has not closed. */
  notices: readonly Notice[] = [];
  /** Parts of the state that cannot change. */
  fixed: Partial<State> = {};
  /** The dark theme is on. */
  dark = false;
  /** Animations are off. */
  still = false;
  /** The cell and the head under the pointer. */
  hover: TokenPair | null = null;
  hoverHead: HeadName | null = null;
  /** A cell to begin with is being chosen in the head. */
  choosing = false;
  /** The step that the bars of the row show, 0 for q·k; undefined: the last one. */
  step: number | undefined;
  /** How many heads have been measured so far. */
  measured = 0;
  /** How many stores have been opened. */
  opened = 0;
  /** Share of the background work that is done; 1: none is running. */
  progress = 1;
  /** How the picture on screen is exported; undefined: the state decides. */
  exports: Exports | undefined;
  /** The model that computed the attention and can run again without some heads; undefined: none. */
  model: SourceModel | undefined;
  /** The model that reads lists of texts; undefined: none. */
  reader: TextReader | undefined;
  /** Opens another source; the current one stays open. */
  openSource: (index: number) => Promise<HeadStore> = () =>
    Promise.reject(new Error("attention-view: there is no other text"));
  /** Whether the page of a state shows edits of its row; the registry of views knows. */
  isEditable: (state: State) => boolean = () => false;
  /** Whether a drawing can draw a block; the registry of views knows. */
  canDraw: (mode: string, block: Block) => boolean = () => true;
  /** Reports what an address or the page around names and the store does not have. */
  absent: (text: string) => void = () => {};
  /** Reports an error of background work. */
  failed: (error: unknown) => void = () => {};

  #edits: { readonly of: State["edits"]; readonly key: string; readonly value: Edits } | undefined;
  #checked = false;
  readonly #listeners = new Set<Listener>();
  readonly #labels = new WeakMap<Block, TokenLabels>();
  readonly #rows = new Map<string, Float64Array>();
  readonly #measures = new StoreAnswers<HeadMeasures>(this, () => {
    this.measured++;
    this.changed();
  });
  readonly #ranges = new StoreAnswers<number>(this, () => this.changed());

  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Notifies the subscribers of a change. */
  changed(how: How = "replace", before: State = this.state): void {
    for (const listener of this.#listeners) listener(how, before);
  }

  /** Changes the state; values that the store does not have are clamped. */
  set(patch: Partial<State>, how: How = "push"): void {
    const before = this.state;
    let next = this.settled({ ...before, ...patch, ...this.fixed });
    const sameRow = next.query === before.query && sameHead(before, next);
    // The temperature belongs to one row: another row starts at 1.
    if (next.temperature !== 1 && patch.temperature === undefined && !(sameRow && this.isEditable(next)))
      next = { ...next, temperature: 1 };
    // Edits belong to one query of one head, and only some pages show them.
    if (next.edits.length > 0 && patch.edits === undefined && !(sameRow && this.isEditable(next)))
      next = { ...next, edits: [] };
    if (Object.keys(next).every((part) => Object.is(next[part as keyof State], before[part as keyof State])))
      return;
    // The hovered cell belongs to the previous picture.
    if (next.view !== before.view || next.mode !== before.mode || next.table !== before.table) {
      this.hover = null;
      this.hoverHead = null;
    }
    this.state = next;
    this.changed(how, before);
  }

  /** Reports the parts of a state from outside that the store does not have, so that another part is not shown without a word. */
  check(wanted: Partial<State>): void {
    const { block, sources, state, store } = this;
    // A list or a name may be of what is absent and stay in the state, for another file.
    const differs = ([part, value]: [string, unknown]) =>
      value !== state[part as keyof State] ||
      (Array.isArray(value)
        ? value.length > 0
        : part === "fromLayer" || (typeof value === "object" && value !== null));
    if (block === undefined || !Object.entries(wanted).some(differs)) return;
    void import("../state/absent.ts").then(({ absentParts }) => {
      for (const text of absentParts(wanted, state, block, store!.blocks, sources.length)) this.absent(text);
    });
  }

  /** Shows a message until the user closes it. */
  notify(notice: Notice): void {
    this.notices = [...this.notices.filter(({ text }) => text !== notice.text), notice].slice(-3);
    this.changed();
  }

  dismiss(notice: Notice): void {
    this.notices = this.notices.filter((one) => one !== notice);
    this.changed();
  }

  /**
   * Shows another store, or none. The caller disposes of the previous one.
   *
   * @param patch changes of the state that come with it, such as the cell it opens at
   * @param model the model that computed the store
   */
  open(store: HeadStore | undefined, patch: Partial<State> = {}, model?: SourceModel): void {
    const old = this.block;
    this.store = store;
    this.model = model;
    this.opened++;
    this.#rows.clear();
    this.hover = null;
    this.hoverHead = null;
    this.#edits = undefined;
    this.status = store === undefined ? { kind: "empty" } : { kind: "ready" };
    const before = this.state;
    // Edits from an address apply only to the first store that is opened.
    const edits = old === undefined ? before.edits : [];
    this.state = this.settled({ ...before, edits, ...patch });
    this.changed("replace", before);
    // What the address and the page name is for the first store; later ones are shown as near to the state as they can be.
    if (store !== undefined && !this.#checked) this.check(namedParts({ ...before, ...patch }));
    this.#checked ||= store !== undefined;
  }

  /** The state with its head, cell and stage clamped to those of the store. */
  settled(state: State): State {
    const { store } = this;
    if (store === undefined || store.blocks.length === 0) return state;
    const block = store.blocks.find(({ name }) => name === state.block) ?? store.blocks[0];
    const layer = block.layers.includes(state.layer)
      ? state.layer
      : block.layers.reduce((a, b) => (Math.abs(b - state.layer) < Math.abs(a - state.layer) ? b : a));
    const within = (value: number, count: number) => Math.max(0, Math.min(count - 1, value));
    const stage = block.stages.includes(state.stage) ? state.stage : "weights";
    const { rows, columns } = axesOf(block, state);
    const query = nearest(rows, within(state.query, block.Nq));
    const key = nearest(columns, within(state.key, block.Nk));
    const pinnedCell =
      state.pinned !== null && state.pinned[0] < block.Nq && state.pinned[1] < block.Nk ? state.pinned : null;
    const head = within(state.head, block.heads);
    // An address without a block means the current block, also for its pins.
    const pins = state.pins.some((pin) => pin.block === "")
      ? state.pins.map((pin) => (pin.block === "" ? { ...pin, block: block.name } : pin))
      : state.pins;
    // Heads and tokens of an address that the block does not have are ignored.
    const exists = (one: State["ablated"][number]) =>
      block.layers.includes(one.layer) &&
      one.head < block.heads &&
      (one.position === null || one.position < block.Nq);
    const ablated = state.ablated.every(exists) ? state.ablated : state.ablated.filter(exists);
    const predict = state.predict !== null && state.predict < block.Nq ? state.predict : null;
    // What is shown is one of the sources.
    const text = this.sources.length === 0 ? state.text : within(state.text, this.sources.length);
    return {
      ...state,
      text,
      mode: this.canDraw(state.mode, block) ? state.mode : DEFAULT.mode,
      block: block.name,
      layer,
      head,
      stage,
      query,
      key,
      pinned: pinnedCell,
      pins,
      ablated,
      predict,
    };
  }

  get block(): Block | undefined {
    return this.store?.blocks.find(({ name }) => name === this.state.block) ?? this.store?.blocks[0];
  }

  /** The pinned heads of this store; those of other files and models stay in the state. */
  get pins(): readonly HeadName[] {
    const isHere = ({ block: of, layer, head }: HeadName) =>
      this.store?.blocks.some((one) => one.name === of && one.layers.includes(layer) && head < one.heads);
    return this.state.pins.filter(isHere);
  }

  /** The cursor's head. */
  get ref(): HeadRef {
    return this.refOf(this.state);
  }

  refOf({ block, layer, head }: HeadName): HeadRef {
    const index = this.store?.blocks.findIndex(({ name }) => name === block) ?? 0;
    return { block: Math.max(0, index), layer, head };
  }

  /** Whether the numbers of the cursor's head are in memory. */
  get ready(): boolean {
    return this.store !== undefined && this.block !== undefined && this.store.ready(this.ref);
  }

  /** The cell that is explained: the pinned one, else the hovered one, else the cursor's. */
  get shown(): TokenPair {
    const { pinned: pinnedCell, query, key } = this.state;
    return pinnedCell === null
      ? (this.hover ?? { query, key })
      : { query: pinnedCell[0], key: pinnedCell[1] };
  }

  /** The user's edits in the form that the store takes; none on pages that do not show edits. */
  get edits(): Edits {
    const { state, store } = this;
    if (!this.isEditable(state) || state.edits.length === 0 || store === undefined || !this.ready)
      return NO_EDITS;
    const { query } = this.shown;
    const key = `${state.block} ${state.layer} ${state.head} ${query}`;
    if (this.#edits?.of !== state.edits || this.#edits.key !== key)
      this.#edits = { of: state.edits, key, value: resolvedEdits(store, this.ref, query, state.edits) };
    return this.#edits.value;
  }

  /** The hovered cell, else the cursor's, even if another one is pinned. */
  get pointed(): TokenPair {
    return this.hover ?? this.state;
  }

  /** Points at a cell, or at none. */
  point(cell: TokenPair | null): void {
    if (this.hover?.query === cell?.query && this.hover?.key === cell?.key) return;
    this.hover = cell;
    this.changed();
  }

  labels(block: Block): TokenLabels {
    return cached(this.#labels, block, () => {
      const named = (tokens: readonly string[]) => {
        const pieces = piecesOf(tokens);
        return tokens.map((token) => visible(token, pieces, 48));
      };
      const query = named(block.queryTokens);
      const key = block.keyTokens === block.queryTokens ? query : named(block.keyTokens);
      return { query, key, lang: { query: block.queryLang, key: block.keyLang } };
    });
  }

  /** A row of a stage of the cursor's head, exact; the 64 newest are cached. */
  row(query: number, stage: Stage): Float64Array {
    const { block, layer, head } = this.ref;
    const key = `${block} ${layer} ${head} ${query} ${stage}`;
    let row = this.#rows.get(key);
    if (row === undefined) {
      row = this.store!.row(this.ref, query, stage);
      if (this.#rows.size >= 64) this.#rows.delete(this.#rows.keys().next().value!);
      this.#rows.set(key, row);
    }
    return row;
  }

  /** The measures of a head; undefined while they are computed, and subscribers are notified afterwards. */
  measures(name: HeadName = this.state): HeadMeasures | undefined {
    const ref = this.refOf(name);
    return this.#measures.get(`${ref.block} ${ref.layer} ${ref.head}`, (store) => store.measures(ref));
  }

  /** The largest absolute value of the head at a stage; undefined while it is computed. */
  largest(stage: Stage): number | undefined {
    const { ref } = this;
    return this.#ranges.get(`${ref.block} ${ref.layer} ${ref.head} ${stage}`, async (store) =>
      Math.max(...(await store.range(ref, stage)).map(Math.abs)),
    );
  }

  /** The largest value of the head at its stage, if the color scale ends there and the value is known. */
  get headMax(): number | undefined {
    const { domain, stage } = this.state;
    if (domain !== "head") return undefined;
    return stage === "weights" ? this.measures()?.maxWeight : this.largest(stage);
  }
}

const NO_EDITS: Edits = {};

/** The edited vectors and scale; components that a vector does not have are ignored. */
function resolvedEdits(store: HeadStore, ref: HeadRef, query: number, edits: State["edits"]): Edits {
  let result: Edits = {};
  const put = (values: Float64Array, index: number, value: number) => {
    if (index < values.length) values[index] = value;
    return values;
  };
  if (!store.blocks[ref.block].has.qk) return NO_EDITS;
  for (const edit of edits) {
    if (edit.what === "scale") result = { ...result, scale: edit.value };
    else if (edit.what === "query") {
      const before = result.query ?? store.vector(ref, "query", query);
      result = { ...result, query: put(Float64Array.from(before), edit.index, edit.value) };
    } else if (edit.token < store.blocks[ref.block].Nk) {
      const before =
        result.key?.index === edit.token ? result.key.values : store.vector(ref, "key", edit.token);
      const values = put(Float64Array.from(before), edit.index, edit.value);
      result = { ...result, key: { index: edit.token, values } };
    }
  }
  return result;
}

/** The tokens that a head's picture shows. */
export function axesOf(block: Block, state: State): { rows: Axis; columns: Axis } {
  const ranges = (role: "query" | "key", chosen: readonly number[]) => {
    const list = chosen.map((index) => block.segments[index]?.[role]).filter((range) => range !== undefined);
    return list.length === 0 ? undefined : list;
  };
  return {
    rows: axisOf(block.Nq, ranges("query", state.querySegments)),
    columns: axisOf(block.Nk, ranges("key", state.keySegments)),
  };
}

/** Whether the keys that stay get the share of those that are left out: weights only, so that a cell has one number at every stage. */
export const isRescaled = (state: Pick<State, "renormalize" | "stage">): boolean =>
  state.renormalize && state.stage === "weights";

/** The keys that are left out, sorted; none for scores, because leaving keys out only changes weights. */
export function hiddenKeys(block: Block, state: State): readonly number[] {
  if (isSigned(state.stage)) return [];
  if (state.hide === "first") return block.Nk > 0 ? [0] : [];
  if (state.hide === "chosen") return state.hidden.filter((key) => key < block.Nk);
  if (state.hide === "none") return [];
  return [...block.special.key.keys()].filter((key) => block.special.key[key]);
}
