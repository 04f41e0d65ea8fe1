/**
 * The running text of a head: the background of each token shows the weight that it gets from the chosen queries, or gives to
 * the chosen keys. If queries and keys are the same text, it is shown once, and tokens are chosen and read in it. Otherwise both
 * texts are shown: tokens are chosen in one and read in the other.
 *
 * Hovering previews: without a selection, it chooses the token under the pointer; with one, it reads the token's number. flow.ts
 * breaks the text into lines, passage.ts renders it, values.ts computes its numbers.
 */
import { nothing, render } from "lit";
import type { Span } from "../../../src/store/measures/aggregate.ts";
import { codeOf, isSigned, signedCodeOf } from "../../../src/store/measures/transfer.ts";
import type { Block } from "../../../src/store/types.ts";
import { axesOf, type Session } from "../../app/session.ts";
import type { Slices } from "../../app/time-slicer.ts";
import { placeOf } from "../../canvas/axis.ts";
import { rampOf } from "../../canvas/colors.ts";
import type { State } from "../../state/state.ts";
import { readLine, tintLine } from "./controls.ts";
import { directionOf, type Unit, unitOf, unitsOf } from "./flow.ts";
import { tintsOf } from "./ink.ts";
import { LEADING, type Look, Passage } from "./passage.ts";
import { keyOver, pointOver } from "./pointing.ts";
import { MARK, TextValues, type Values } from "./values.ts";

/** What the text needs of its element. */
export interface TextHost {
  readonly session: Session;
  readonly slices: Slices;
  /** The text of a cell for screen readers; `full` for the cursor's. */
  readonly describe: (query: number, key: number, full: boolean) => string;
}

/** Whether a text has the queries or the keys. */
export type Side = "query" | "key";

/** The texts on the page, and the chosen tokens. */
export interface Reading {
  readonly block: Block;
  /** Queries and keys are the same text. */
  readonly single: boolean;
  /** Tokens are chosen in one text and read in the other. */
  readonly chooser: Side;
  readonly target: Side;
  readonly units: Readonly<Record<Side, readonly Unit[]>>;
  /** The indices of the chosen units, and whether they are selected (or only hovered). */
  readonly chosen: readonly number[];
  readonly pinned: boolean;
}

const other = (side: Side): Side => (side === "query" ? "key" : "query");
/** The classes of units without a value, in the order of the marks. */
const KINDS = ["masked", "hidden", "non-finite"] as const;

/** Whether queries and keys are the same text. */
const isSingle = ({ kind, Nq, Nk, queryOffset, queryTokens, keyTokens }: Block) =>
  kind === "self" &&
  Nq === Nk &&
  queryOffset === 0 &&
  (queryTokens === keyTokens || queryTokens.every((token, i) => token === keyTokens[i]));

/** The font sizes in pixels: the largest one that fits is used. */
const SIZES = [24, 20, 17, 15] as const;

export class TextPane {
  readonly root = document.createElement("div");
  readonly host: TextHost;
  readonly passages: Readonly<Record<Side, Passage>> = { query: new Passage(), key: new Passage() };
  readonly scroller = document.createElement("div");
  /** The text that has the keyboard focus, if there are two. */
  side: Side | undefined;
  /** The unit under the pointer. */
  pointed: { readonly side: Side; readonly unit: number } | undefined;
  /** The values of the text that is read. */
  values: Values | undefined;
  /** The value at full color, for the legend. */
  domain: number | undefined;
  readonly #values: TextValues;
  readonly #headings = { query: document.createElement("h3"), key: document.createElement("h3") } as const;
  readonly #says = document.createElement("div");
  readonly #stop = new AbortController();
  readonly #sizes: ResizeObserver;
  readonly #widths = new Map<string, number>();
  readonly #units = new WeakMap<readonly string[], { words?: readonly Unit[]; pieces?: readonly Unit[] }>();
  readonly #directions = new WeakMap<readonly string[], "ltr" | "rtl">();
  #pen: OffscreenCanvasRenderingContext2D | null = null;
  #font = "";
  #size = 0;
  #due = 0;
  #follow = true;

  constructor(host: TextHost) {
    this.host = host;
    this.root.className = "text";
    this.scroller.className = "scroller";
    this.#says.className = "says";
    this.#values = new TextValues(host.session, host.slices, () => this.schedule());
    for (const side of ["query", "key"] as const) {
      this.#headings[side].textContent = side === "query" ? "queries" : "keys";
      this.scroller.append(this.#headings[side], this.passages[side].root);
    }
    this.root.append(this.scroller, this.#says);
    const { signal } = this.#stop;
    this.scroller.addEventListener("scroll", () => this.schedule(), { signal, passive: true });
    pointOver(this, signal);
    this.root.addEventListener("keydown", (event) => keyOver(this, event), { signal });
    this.#sizes = new ResizeObserver(() => this.schedule());
  }

  connect(): void {
    this.#sizes.observe(this.scroller);
    this.#follow = true;
    this.schedule();
    // Widths are measured again once the font has been loaded.
    document.fonts?.ready.then(() => this.restyle());
  }

  disconnect(): void {
    this.#sizes.disconnect();
    cancelAnimationFrame(this.#due);
    this.#due = 0;
    this.pointed = undefined;
    this.#values.stop();
  }

  dispose(): void {
    this.disconnect();
    this.#stop.abort();
  }

  restyle(): void {
    this.#widths.clear();
    this.#font = "";
    this.schedule();
  }

  schedule(): void {
    if (this.#due === 0 && this.root.isConnected) this.#due = requestAnimationFrame(() => this.#draw());
  }

  /** Focuses the cursor's token. */
  focus(): void {
    const { reading } = this;
    if (reading === undefined) return;
    const side = this.activeSide(reading);
    this.passages[reading.single ? "query" : side]
      .element(this.activeUnit(reading))
      ?.focus({ preventScroll: true });
  }

  /** Scrolls to the cursor's token. */
  follow(): void {
    this.#follow = true;
    this.schedule();
  }

  /** The axis that the keyboard moves along: with a selection, the one that is read. */
  activeSide({ single, pinned, chooser, target }: Reading): Side {
    return single ? (pinned ? target : chooser) : (this.side ?? (pinned ? target : chooser));
  }

  activeUnit(reading: Reading): number {
    const { state } = this.host.session;
    const side = this.activeSide(reading);
    return unitOf(reading.units[side], side === "query" ? state.query : state.key);
  }

  /** The current texts and chosen tokens, independent of the last drawing. */
  get reading(): Reading | undefined {
    const { block, state, ready } = this.host.session;
    return block === undefined || !ready ? undefined : this.#readingOf(block, state);
  }

  /** The tokens of a text as units, cached. */
  #unitsOf(tokens: readonly string[], words: boolean): readonly Unit[] {
    const made = this.#units.get(tokens) ?? {};
    this.#units.set(tokens, made);
    const name = words ? "words" : "pieces";
    made[name] ??= unitsOf(tokens, words);
    return made[name];
  }

  #readingOf(block: Block, state: State): Reading {
    const single = isSingle(block);
    const chooser: Side = state.direction === "from" ? "query" : "key";
    const units = {
      query: this.#unitsOf(block.queryTokens, state.words),
      key: this.#unitsOf(single ? block.queryTokens : block.keyTokens, state.words),
    };
    const tokens = chooser === "query" ? state.rows : state.columns;
    const count = chooser === "query" ? block.Nq : block.Nk;
    const pinnedUnits = [
      ...new Set(tokens.filter((token) => token < count).map((token) => unitOf(units[chooser], token))),
    ];
    const pinned = pinnedUnits.length > 0;
    const { pointed } = this;
    const previews = pointed !== undefined && (single || pointed.side === chooser);
    const cursor = unitOf(units[chooser], chooser === "query" ? state.query : state.key);
    const chosen = pinned ? pinnedUnits : [previews ? pointed.unit : cursor];
    return { block, single, chooser, target: other(chooser), units, chosen, pinned };
  }

  /** Draws immediately: there is no frame between `beforeprint` and printing. */
  draw(): void {
    cancelAnimationFrame(this.#due);
    this.#draw();
  }

  #draw(): void {
    this.#due = 0;
    const { session } = this.host;
    const { block, state } = session;
    const width = this.scroller.clientWidth - 8;
    if (block === undefined || width < 60 || !session.ready) return;
    const reading = this.#readingOf(block, state);
    this.#lay(reading, width, this.#sizeFor(reading, width));
    const { chooser, target, units } = reading;
    const spans = (side: Side, which: readonly number[]): Span[] => which.map((unit) => units[side][unit]);
    // Until columns arrive, the previous values stay.
    const found = this.#values.ask(block, {
      direction: state.direction,
      stage: state.stage,
      chosen: spans(chooser, reading.chosen),
      over: units[target],
      aggregate: state.aggregate,
    });
    if (found === undefined && this.values?.values.length !== units[target].length) this.values = undefined;
    else if (found !== undefined) this.values = found;
    this.root.classList.toggle("waiting", found === undefined);
    const domain = this.domain;
    this.domain = this.#domainOf(state);
    // Notifies the legend.
    if (domain !== this.domain) session.changed();
    const shown = this.#show(reading);
    if (this.#follow) {
      this.#follow = false;
      this.#reveal(reading);
      shown();
    }
    this.#say(reading);
  }

  /** The largest font size at which the text fits its pane; a long text gets the smallest one, and scrolls. */
  #sizeFor({ single, units }: Reading, width: number): number {
    let letters = 0;
    const all = single ? [units.query] : [units.query, units.key];
    for (const one of all) for (const { text, apart } of one) letters += text.length + (apart ? 1 : 0);
    const height = this.scroller.clientHeight - (single ? 0 : 80);
    const lines = (size: number) => Math.ceil((letters * size * 0.62) / width) + all.length;
    const size = SIZES.find((one) => lines(one) * LEADING * one <= height) ?? SIZES[SIZES.length - 1];
    if (this.#size !== size) {
      this.#size = size;
      this.scroller.style.setProperty("--letters", `${size}px`);
      this.#widths.clear();
      this.#font = "";
    }
    return size;
  }

  #lay({ block, single, units, chooser }: Reading, width: number, size: number): void {
    const measure = this.#measurer();
    this.root.classList.toggle("single", single);
    for (const side of ["query", "key"] as const) {
      const there = side === "query" || !single;
      const passage = this.passages[side];
      passage.root.hidden = !there;
      this.#headings[side].hidden = single;
      if (!there) continue;
      const tokens = side === "query" ? block.queryTokens : block.keyTokens;
      let direction = this.#directions.get(tokens);
      if (direction === undefined) {
        direction = directionOf(tokens);
        this.#directions.set(tokens, direction);
      }
      const role = side === chooser ? "to choose from" : "to read";
      passage.lay({
        units: units[side],
        direction,
        lang: side === "query" ? block.queryLang : block.keyLang,
        width,
        size,
        label: single ? "The text" : `The ${side === "query" ? "queries" : "keys"}, ${role}`,
        key: `${block.name} ${this.#font}`,
        measure,
      });
    }
  }

  /** A function that measures texts in the page's font, with a cache. */
  #measurer(): (text: string) => number {
    this.#pen ??= new OffscreenCanvas(1, 1).getContext("2d");
    if (this.#font === "") {
      const { fontStyle, fontWeight, fontSize, fontFamily } = getComputedStyle(this.passages.query.root);
      this.#font = `${fontStyle} ${fontWeight} ${fontSize} ${fontFamily}`;
    }
    const pen = this.#pen!;
    pen.font = this.#font;
    return (text) => {
      let width = this.#widths.get(text);
      if (width === undefined) {
        width = Math.ceil(pen.measureText(text).width * 4) / 4;
        this.#widths.set(text, width);
      }
      return width;
    };
  }

  #domainOf({ stage, domain }: State): number | undefined {
    const { session } = this.host;
    const shown = this.values;
    if (domain === "row" && shown !== undefined) {
      let maximum = 0;
      for (let n = 0; n < shown.values.length; n++)
        if (shown.marks[n] === MARK.value) maximum = Math.max(maximum, Math.abs(shown.values[n]));
      return maximum;
    }
    if (stage !== "weights") return this.#values.largest(stage);
    return domain === "head" ? session.headMax : 1;
  }

  /** Renders and styles the visible lines; the returned function repeats it after scrolling. */
  #show(reading: Reading): () => void {
    const { session } = this.host;
    const { state } = session;
    const { single, chooser, target, units, chosen, pinned, block } = reading;
    const axes = axesOf(block, state);
    const tints = tintsOf(rampOf(state.ramp, isSigned(state.stage), session.dark));
    const among = new Set(chosen);
    const active = this.activeUnit(reading);
    const activeSide = this.activeSide(reading);
    const lookOf =
      (side: Side) =>
      (unit: number): Look => {
        const span = units[side][unit];
        const reads = single || side === target;
        const axis = (single ? target : side) === "query" ? axes.rows : axes.columns;
        const outside = placeOf(axis, span.start) === undefined;
        const mark = reads && !outside ? this.values?.marks[unit] : undefined;
        const isChosen = (single || side === chooser) && among.has(unit);
        const kinds = [
          outside ? "outside" : "",
          mark !== undefined && mark !== MARK.value ? KINDS[mark - 1] : "",
          isChosen ? (pinned ? "chosen" : "previewed") : "",
          this.pointed?.unit === unit && (single || this.pointed.side === side) ? "pointed" : "",
        ];
        const isActive = unit === active && (single || side === activeSide);
        return {
          tint: mark === MARK.value && this.domain !== undefined ? tints[this.#code(unit)] : undefined,
          kind: kinds.filter((kind) => kind !== "").join(" "),
          selected: isChosen && pinned,
          label: isActive ? this.#label(reading) : undefined,
        };
      };
    const show = () => {
      const top = this.scroller.scrollTop;
      const bottom = top + this.scroller.clientHeight;
      for (const side of ["query", "key"] as const) {
        if (single && side === "key") continue;
        const passage = this.passages[side];
        const at = passage.root.offsetTop;
        const own = single || side === activeSide;
        const { query, key } = state;
        const unit = own ? active : unitOf(units[side], side === "query" ? query : key);
        const focused = passage.focused;
        // Each text is one tab stop: its last focused token.
        passage.show(top - at, bottom - at, unit, true, lookOf(side));
        if (focused) passage.element(unit)?.focus({ preventScroll: true });
      }
    };
    show();
    return show;
  }

  #code(unit: number): number {
    const { stage, transfer } = this.host.session.state;
    const value = this.values!.values[unit];
    return isSigned(stage) ? signedCodeOf(value, this.domain!) : codeOf(value, transfer, this.domain!);
  }

  /** The label of the focused token for screen readers. */
  #label(reading: Reading): string {
    const { session, describe } = this.host;
    const { query, key } = session.state;
    const { single, pinned, units } = reading;
    const side = this.activeSide(reading);
    const unit = units[side][this.activeUnit(reading)];
    const text = single || pinned || side === reading.target ? describe(query, key, true) : "";
    return text === "" ? unit.text : `${unit.text}: ${text}`;
  }

  #reveal(reading: Reading): void {
    const { single } = reading;
    const side = single ? "query" : this.activeSide(reading);
    const element = this.passages[side].element(this.activeUnit(reading));
    const line = element?.parentElement;
    if (!line) return;
    const top = this.passages[side].root.offsetTop + line.offsetTop;
    const { scrollTop, clientHeight } = this.scroller;
    const { offsetHeight } = line;
    // One more line is shown.
    if (top < scrollTop + offsetHeight) this.scroller.scrollTop = top - offsetHeight;
    else if (top + 2 * offsetHeight > scrollTop + clientHeight)
      this.scroller.scrollTop = top + 2 * offsetHeight - clientHeight;
  }

  #say(reading: Reading): void {
    const { session } = this.host;
    const { target, units } = reading;
    const { query, key } = session.pointed;
    const unit = unitOf(units[target], target === "query" ? query : key);
    const line = this.values ? readLine(reading, this.values, unit, session) : nothing;
    render([tintLine(reading, session, this.values?.missing ?? 0), line], this.#says);
  }
}
