/**
 * The running text of a head: the background of each token shows the weight that it gets from the chosen queries, or gives to
 * the chosen keys. If queries and keys are the same text, it is shown once, and tokens are chosen and read in it. Otherwise both
 * texts are shown: tokens are chosen in one and read in the other.
 *
 * Hovering previews: without a selection, it chooses the token under the pointer; with one, it reads the token's number. flow.ts
 * breaks the text into lines, passage.ts renders it, values.ts computes its numbers.
 */
import { nothing, render } from "lit";
import type { Block } from "../../../src/store/block.ts";
import type { Span } from "../../../src/store/measures/aggregate.ts";
import { codeOf, isSigned, signedCodeOf } from "../../../src/store/measures/transfer.ts";
import { axesOf, type Session, type TokenRole } from "../../app/session.ts";
import type { Slices } from "../../app/time-slicer.ts";
import { placeOf } from "../../canvas/axis.ts";
import { cached } from "../../canvas/cached.ts";
import { rampOf } from "../../canvas/colors.ts";
import { make, on } from "../../canvas/dom.ts";
import { DrawnPane } from "../../canvas/drawn-pane.ts";
import type { State } from "../../state/state.ts";
import { readLine, tintLine } from "./controls.ts";
import { directionOf, type Reading, type Unit, unitOf, unitsOf } from "./flow.ts";
import { tintsOf } from "./ink.ts";
import { LEADING, type Look, Passage } from "./passage.ts";
import { MARK, TextValues, type UnitValues } from "./values.ts";

/** What the text needs of its element. */
export interface TextHost {
  readonly session: Session;
  readonly slices: Slices;
  /** The text of a cell for screen readers; `full` for the cursor's. */
  readonly describe: (query: number, key: number, full: boolean) => string;
}

/** A code of a color scale as a share of full color. */
const strengthOf = (code: number, signed: boolean) => (signed ? Math.abs(code - 128) / 127 : code / 255);

const other = (role: TokenRole): TokenRole => (role === "query" ? "key" : "query");
/** The classes of units without a value, in the order of the marks. */
const KINDS = ["masked", "hidden", "non-finite"] as const;

/** Whether queries and keys are the same text. */
export const isSingle = ({ kind, Nq, Nk, queryOffset, queryTokens, keyTokens }: Block) =>
  kind === "self" &&
  Nq === Nk &&
  queryOffset === 0 &&
  (queryTokens === keyTokens || queryTokens.every((token, i) => token === keyTokens[i]));

/** The font sizes in pixels: the largest one that fits is used. */
const SIZES = [24, 20, 17, 15] as const;

export class TextPane extends DrawnPane {
  readonly host: TextHost;
  readonly passages: Readonly<Record<TokenRole, Passage>>;
  readonly scroller = make("div", "scroller");
  /** The text that has the keyboard focus, if there are two. */
  role: TokenRole | undefined;
  /** The unit under the pointer. */
  pointed: { readonly role: TokenRole; readonly unit: number } | undefined;
  /** The values of the text that is read. */
  values: UnitValues | undefined;
  /** The value at full color, for the legend. */
  domain: number | undefined;
  readonly #values: TextValues;
  readonly #headings = { query: make("h3"), key: make("h3") } as const;
  readonly #says = make("div", "says");
  readonly #widths = new Map<string, number>();
  readonly #units = new WeakMap<readonly string[], { words?: readonly Unit[]; pieces?: readonly Unit[] }>();
  readonly #directions = new WeakMap<readonly string[], "ltr" | "rtl">();
  #pen: OffscreenCanvasRenderingContext2D | null = null;
  #font = "";
  #size = 0;
  #follow = true;

  /** @param passageOf the picture of the queries, of the keys, or of both if they are the same text */
  constructor(host: TextHost, passageOf: (role: TokenRole) => Passage = () => new Passage()) {
    super("text");
    this.host = host;
    this.passages = { query: passageOf("query"), key: passageOf("key") };
    this.#values = new TextValues(host.session, host.slices, () => this.schedule());
    for (const role of ["query", "key"] as const) {
      this.#headings[role].textContent = role === "query" ? "queries" : "keys";
      this.scroller.append(this.#headings[role], this.passages[role].root);
    }
    this.root.append(this.scroller, this.#says);
    const { signal } = this.listening;
    on(this.scroller, signal, "scroll", () => this.schedule());
  }

  protected override get sized(): HTMLElement {
    return this.scroller;
  }

  override connect(): void {
    this.#follow = true;
    super.connect();
    // Widths are measured again once the font has been loaded.
    document.fonts?.ready.then(() => this.restyle());
  }

  override disconnect(): void {
    super.disconnect();
    this.pointed = undefined;
    this.#values.stop();
  }

  restyle(): void {
    this.#widths.clear();
    this.#font = "";
    this.schedule();
  }

  /** Focuses the cursor's token. */
  focus(): void {
    const { reading } = this;
    if (reading === undefined) return;
    const role = this.activeSide(reading);
    this.passages[reading.single ? "query" : role]
      .element(this.activeUnit(reading))
      ?.focus({ preventScroll: true });
  }

  /** Scrolls to the cursor's token. */
  follow(): void {
    this.#follow = true;
    this.schedule();
  }

  /** The axis that the keyboard moves along: with a selection, the one that is read. */
  activeSide({ single, pinned, chooser, target }: Reading): TokenRole {
    return single ? (pinned ? target : chooser) : (this.role ?? (pinned ? target : chooser));
  }

  activeUnit(reading: Reading): number {
    const { state } = this.host.session;
    const role = this.activeSide(reading);
    return unitOf(reading.units[role], role === "query" ? state.query : state.key);
  }

  /** The current texts and chosen tokens, independent of the last drawing. */
  get reading(): Reading | undefined {
    const { block, state, ready } = this.host.session;
    return block === undefined || !ready ? undefined : this.#readingOf(block, state);
  }

  /** Whether pieces of a word are one unit. */
  protected get words(): boolean {
    return this.host.session.state.words;
  }

  /** The tokens of a text as units, cached. */
  #unitsOf(tokens: readonly string[], words: boolean): readonly Unit[] {
    const entry = this.#units.get(tokens) ?? {};
    this.#units.set(tokens, entry);
    const name = words ? "words" : "pieces";
    entry[name] ??= unitsOf(tokens, words);
    return entry[name];
  }

  #readingOf(block: Block, state: State): Reading {
    const single = isSingle(block);
    const chooser: TokenRole = state.direction === "from" ? "query" : "key";
    const units = {
      query: this.#unitsOf(block.queryTokens, this.words),
      key: this.#unitsOf(single ? block.queryTokens : block.keyTokens, this.words),
    };
    const tokens = chooser === "query" ? state.rows : state.columns;
    const count = chooser === "query" ? block.Nq : block.Nk;
    const pinnedUnits = [
      ...new Set(tokens.filter((token) => token < count).map((token) => unitOf(units[chooser], token))),
    ];
    const pinned = pinnedUnits.length > 0;
    const { pointed } = this;
    const previews = pointed !== undefined && (single || pointed.role === chooser);
    const cursor = unitOf(units[chooser], chooser === "query" ? state.query : state.key);
    const chosen = pinned ? pinnedUnits : [previews ? pointed.unit : cursor];
    return { block, single, chooser, target: other(chooser), units, chosen, pinned };
  }

  protected paint(): void {
    const { session } = this.host;
    const { block, state } = session;
    const width = this.scroller.clientWidth - 8;
    if (block === undefined || width < 60 || !session.ready) return;
    const reading = this.#readingOf(block, state);
    this.#lay(reading, width, this.#sizeFor(reading, width));
    const { chooser, target, units } = reading;
    const spans = (role: TokenRole, which: readonly number[]): Span[] =>
      which.map((unit) => units[role][unit]);
    // Until columns arrive, the previous values stay.
    const values = this.#values.ask(block, {
      direction: state.direction,
      stage: state.stage,
      chosen: spans(chooser, reading.chosen),
      over: units[target],
      aggregate: state.aggregate,
    });
    if (values === undefined && this.values?.values.length !== units[target].length) this.values = undefined;
    else if (values !== undefined) this.values = values;
    this.root.classList.toggle("waiting", values === undefined);
    const domain = this.domain;
    this.domain = this.#domainOf(state);
    // Notifies the legend.
    if (domain !== this.domain) session.changed();
    const shown = this.#show(reading);
    if (this.#follow) {
      this.#follow = false;
      this.reveal(reading);
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
    for (const role of ["query", "key"] as const) {
      const isPlaced = role === "query" || !single;
      const passage = this.passages[role];
      passage.root.hidden = !isPlaced;
      this.#headings[role].hidden = single;
      if (!isPlaced) continue;
      const tokens = role === "query" ? block.queryTokens : block.keyTokens;
      const direction = cached(this.#directions, tokens, () => directionOf(tokens));
      const purpose = role === chooser ? "to choose from" : "to read";
      passage.lay({
        units: units[role],
        direction,
        lang: role === "query" ? block.queryLang : block.keyLang,
        width,
        size,
        label: single ? "The text" : `The ${role === "query" ? "queries" : "keys"}, ${purpose}`,
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
    return (text) => cached(this.#widths, text, () => Math.ceil(pen.measureText(text).width * 4) / 4);
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
    if (stage !== "weights") return session.largest(stage);
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
      (role: TokenRole) =>
      (unit: number): Look => {
        const span = units[role][unit];
        const reads = single || role === target;
        const axis = (single ? target : role) === "query" ? axes.rows : axes.columns;
        const outside = placeOf(axis, span.start) === undefined;
        const mark = reads && !outside ? this.values?.marks[unit] : undefined;
        const hasValue = mark === MARK.value && this.domain !== undefined;
        const isChosen = (single || role === chooser) && among.has(unit);
        const kinds = [
          outside ? "outside" : "",
          mark !== undefined && mark !== MARK.value ? KINDS[mark - 1] : "",
          isChosen ? (pinned ? "chosen" : "previewed") : "",
          this.pointed?.unit === unit && (single || this.pointed.role === role) ? "pointed" : "",
        ];
        const isActive = unit === active && (single || role === activeSide);
        return {
          tint: hasValue ? tints[this.#code(unit)] : undefined,
          strength: hasValue ? strengthOf(this.#code(unit), isSigned(state.stage)) : 0,
          kind: kinds.filter((kind) => kind !== "").join(" "),
          selected: isChosen && pinned,
          label: isActive ? this.#label(reading) : undefined,
        };
      };
    const show = () => {
      const top = this.scroller.scrollTop;
      const bottom = top + this.scroller.clientHeight;
      for (const role of ["query", "key"] as const) {
        if (single && role === "key") continue;
        const passage = this.passages[role];
        const at = passage.root.offsetTop;
        const isActive = single || role === activeSide;
        const { query, key } = state;
        const unit = isActive ? active : unitOf(units[role], role === "query" ? query : key);
        const focused = passage.focused;
        // Each text is one tab stop: its last focused token.
        passage.show(top - at, bottom - at, unit, true, lookOf(role));
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
    const role = this.activeSide(reading);
    const unit = units[role][this.activeUnit(reading)];
    const text = single || pinned || role === reading.target ? describe(query, key, true) : "";
    return text === "" ? unit.text : `${unit.text}: ${text}`;
  }

  /** Scrolls the cursor's token into view. */
  protected reveal(reading: Reading): void {
    const { single } = reading;
    const role = single ? "query" : this.activeSide(reading);
    const element = this.passages[role].element(this.activeUnit(reading));
    const line = element?.parentElement;
    if (!line) return;
    const top = this.passages[role].root.offsetTop + line.offsetTop;
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
    const color = tintLine(reading, session, this.values?.missing ?? 0);
    render([color, line, this.remarks(reading)], this.#says);
  }

  /** Further lines below the text. */
  protected remarks(_reading: Reading): unknown {
    return nothing;
  }
}
