/**
 * Three matrices in a row: a head of the current text, a head of any text, and the first minus the second. The cursor and the
 * pointer are linked: the cell under the pointer is marked at the same tokens in the other matrices.
 */
import { html, render, type TemplateResult } from "lit";
import { align, shared } from "../../../src/core/align.ts";
import { UnsupportedError } from "../../../src/core/errors.ts";
import { causesPanel } from "../../app/panels/causes/causes.ts";
import { type Exports, Session, type TokenPair } from "../../app/session.ts";
import { numeral, quoted, select } from "../../app/ui.ts";
import { make } from "../../canvas/dom.ts";
import { DrawnPane } from "../../canvas/drawn-pane.ts";
import { hasCauses } from "../../state/causes/causes.ts";
import { WITHOUT_TOKENS } from "../../state/select.ts";
import type { State } from "../../state/state.ts";
import { describeCell, STAGE_MEANINGS } from "../../state/words.ts";
import { head } from "../head.ts";
import { Matrix } from "../matrix/matrix.ts";
import { matrix } from "../matrix/view.ts";
import { TablePane } from "../table/table.ts";
import type { Pane, PaneContext } from "../view.ts";
import { comparable } from "./align.ts";
import { differenceStore, shownRow } from "./difference.ts";
import { type Compared, exportsOf } from "./exports.ts";
import { mostSimilar } from "./partner.ts";
import { comparedTable } from "./table.ts";

type SecondHead = NonNullable<State["other"]>;

/** The tokens of both texts in each row and column of the difference. */
type Axes = Pick<Compared, "rows" | "columns">;

export class ComparePane extends DrawnPane implements Pane {
  readonly #context: PaneContext;
  readonly #second = new Session();
  readonly #difference = new Session();
  readonly #matrices: readonly [Matrix, Matrix, Matrix];
  readonly #heads = [make("div"), make("div"), make("div")];
  readonly #cellLine = make("p", "compared");
  readonly #stages: readonly HTMLElement[];
  readonly #causes = make("div", "compare-causes", { role: "group", "aria-label": "Causes" });
  readonly #tabled = make("div", "compare-table");
  readonly #table: TablePane;
  readonly #stop: (() => void)[] = [];
  #key = "";
  #axes: Axes = { rows: [], columns: [] };
  /** The text that is being opened; one object for each opening. */
  #opening: { readonly text: number } | undefined;
  #opened = -1;
  /** The store of the first head for which the second head and the difference were opened. */
  #first: unknown;
  #sources: unknown;
  #linking = false;
  #exports: Exports | undefined;

  constructor(context: PaneContext) {
    super("comparison cursor-keys");
    this.#context = context;
    const matrixOf = (session: Session, bare: boolean) =>
      new Matrix({
        session,
        slices: context.slices,
        takesWheel: context.takesWheel,
        describe: (query, key, full) => describeCell(session, query, key, full),
        bare,
        beside: () => this.#labels,
      });
    this.#matrices = [
      matrixOf(context.session, false),
      matrixOf(this.#second, false),
      matrixOf(this.#difference, true),
    ];
    this.#stages = this.#matrices.map(({ root }) => make("div", "compare-stage", {}, root));
    for (const [n, label] of ["First head", "Second head", "Difference"].entries())
      this.root.append(
        make("section", "", { role: "group", "aria-label": label }, this.#heads[n], this.#stages[n]),
      );
    this.root.append(this.#causes, this.#tabled, this.#cellLine);
    this.#table = new TablePane(context.session, context.slices, () =>
      this.#paired
        ? { ...comparedTable(this.#compared), key: `${this.#key} ${context.session.state.query}` }
        : undefined,
    );
    for (const session of [this.#second, this.#difference])
      session.failed = (error) => context.session.failed(error);
  }

  override connect(): void {
    super.connect();
    const { session } = this.#context;
    this.#stop.push(...this.#sessions.map((one) => one.subscribe(() => this.#link(one))));
    for (const matrix of this.#matrices) matrix.connect();
    this.#exports = exportsOf(() => {
      if (!this.#paired) throw new UnsupportedError("compare", "the second head is not loaded yet");
      return this.#compared;
    });
    session.exports = this.#exports;
    this.#link(session);
  }

  override disconnect(): void {
    super.disconnect();
    for (const stop of this.#stop.splice(0)) stop();
    if (this.#context.session.exports === this.#exports) this.#context.session.exports = undefined;
    for (const matrix of this.#matrices) matrix.disconnect();
    this.#table.disconnect();
  }

  override dispose(): void {
    super.dispose();
    this.#table.dispose();
    for (const matrix of this.#matrices) matrix.dispose();
  }

  restyle(): void {
    this.#mirror();
    for (const matrix of this.#matrices) matrix.restyle();
  }

  protected paint(): void {
    this.#second.sources = this.#context.session.sources;
    this.#update();
    this.#swap();
    for (const matrix of this.#matrices) matrix.schedule();
    this.#render();
  }

  focus(): void {
    if (this.#context.session.state.table) this.#table.focus();
    else this.#matrices[0].focus();
  }

  follow(): void {
    if (this.#context.session.state.table) this.#table.follow();
    for (const matrix of this.#matrices) matrix.follow();
  }

  zoomBy(factor: number): void {
    for (const matrix of this.#matrices) matrix.zoomBy(factor);
  }

  get #compared(): Compared {
    const { session } = this.#context;
    return { first: session, second: this.#second, difference: this.#difference, ...this.#axes };
  }

  get #sessions(): readonly Session[] {
    return [this.#context.session, this.#second, this.#difference];
  }

  /** The labels of all three matrices, whose cells have the same size and are at the same height. */
  get #labels() {
    return this.#sessions.flatMap((session) => (session.block ? [session.labels(session.block)] : []));
  }

  /** Whether both heads are in memory and their tokens are aligned. */
  get #paired(): boolean {
    return this.#context.session.ready && this.#second.ready && this.#difference.store !== undefined;
  }

  /** Shows the table instead of the pictures, or the reverse. */
  #swap(): void {
    const { table } = this.#context.session.state;
    if (!table && !this.#matrices[0].root.isConnected)
      for (const [n, stage] of this.#stages.entries()) stage.append(this.#matrices[n].root);
    this.root.classList.toggle("tabled", table);
    this.#table.place(this.#tabled, table, this);
    // A hidden matrix would wait for a drawing that never happens.
    if (table) for (const { root } of this.#matrices) root.remove();
  }

  /** The second head: the one in the state, else the same head of the model's most similar text, else the next head of this text. */
  get #other(): SecondHead {
    const { state, sources, block, model: currentModel } = this.#context.session;
    if (state.other !== null)
      return { ...state.other, text: Math.min(state.other.text, Math.max(0, sources.length - 1)) };
    const text = mostSimilar(
      sources.map(({ name, model }) => (model?.name === currentModel?.name ? name : undefined)),
      state.text,
    );
    if (text !== state.text) return { text, layer: state.layer, head: state.head };
    return { text: state.text, layer: state.layer, head: (state.head + 1) % Math.max(1, block?.heads ?? 1) };
  }

  /** Copies the theme and the animation setting to the other sessions. */
  #mirror(): void {
    const { dark, still } = this.#context.session;
    for (const session of [this.#second, this.#difference]) Object.assign(session, { dark, still });
  }

  /** Updates the second head and the difference for the state of the first session. */
  #update(): void {
    const { session } = this.#context;
    const { state, store, block } = session;
    if (store === undefined || block === undefined) return;
    this.#mirror();
    const other = this.#other;
    if (other.text === state.text && this.#second.store !== store) {
      this.#second.open(store);
      this.#opened = other.text;
    } else if (other.text !== state.text && (this.#opened !== other.text || this.#second.store === store))
      this.#open(other.text);
    const second = this.#second;
    if (second.store === undefined || second.block === undefined || this.#opened !== other.text) return;
    const [name, { blocks }] = [other.block ?? block.name, second.store];
    const otherBlock = blocks.find((one) => one.name === name) ?? blocks[0];
    // A file of weights has no scores: then the weights of both heads are compared.
    if (!otherBlock.stages.includes(state.stage)) session.set({ stage: "weights" }, "replace");
    this.#linking = true;
    const { mode, stage, transfer, domain, ramp, hide, renormalize, values } = session.state;
    second.set(
      {
        ...{ view: head.name, mode, stage, transfer, domain, ramp, values, table: false },
        ...{ hide: hide === "chosen" ? "none" : hide, renormalize },
        ...{ block: otherBlock.name, layer: other.layer, head: other.head },
      },
      "replace",
    );
    this.#linking = false;
    for (const one of [session, second])
      if (!one.ready) void one.store!.load(one.ref).then(() => this.#link(session), one.failed);
    if (!session.ready || !second.ready) return;
    const left = [hide, renormalize, hide === "chosen" && session.state.hidden];
    const key = `${session.opened} ${second.opened} ${JSON.stringify([session.ref, second.ref, stage, left])}`;
    if (key === this.#key) return;
    this.#key = key;
    const axis = (role: "query" | "key") =>
      shared(align(comparable(block[`${role}Tokens`]), comparable(second.block![`${role}Tokens`])));
    this.#axes = { rows: axis("query"), columns: axis("key") };
    const tokensOf = (of: Session, which: "a" | "b") => ({
      session: of,
      rows: this.#axes.rows.map((pair) => pair[which]),
      columns: this.#axes.columns.map((pair) => pair[which]),
    });
    this.#linking = true;
    this.#difference.store?.dispose();
    this.#difference.open(differenceStore(tokensOf(session, "a"), tokensOf(second, "b"), stage));
    const shown = { view: head.name, mode: matrix.name, stage: "scores", domain: "absolute" } as const;
    this.#difference.set(shown, "replace");
    this.#linking = false;
    this.#link(session);
  }

  /** When another text or list of texts is shown, drops all references to previous stores, which may be disposed of at any time. */
  #release(): void {
    const { store, sources } = this.#context.session;
    if (store === this.#first && sources === this.#sources) return;
    [this.#first, this.#sources] = [store, sources];
    this.#key = "";
    this.#opening = undefined;
    this.#opened = -1;
    this.#axes = { rows: [], columns: [] };
    this.#linking = true;
    for (const session of [this.#second, this.#difference]) session.open(undefined);
    this.#linking = false;
  }

  /** Opens the text of the second head. */
  #open(text: number): void {
    if (this.#opening?.text === text) return;
    // A text of a previous list may have the same number, and arrive later.
    const opening = { text };
    this.#opening = opening;
    this.#context.session.openSource(text).then(
      (store) => {
        if (this.#opening !== opening) return;
        this.#opening = undefined;
        this.#opened = text;
        this.#second.open(store);
        this.schedule();
      },
      (error) => {
        if (this.#opening !== opening) return;
        this.#opening = undefined;
        this.#context.session.failed(error);
      },
    );
  }

  /** Moves the cursor and the pointer of the other heads to the same tokens. */
  #link(from: Session): void {
    this.#release();
    this.schedule();
    if (this.#linking) return;
    const which = this.#sessions.indexOf(from);
    const placeOf = ({ query, key }: TokenPair): TokenPair | undefined => {
      const at = (axis: Axes["rows"], index: number) =>
        which === 2 ? index : axis.findIndex((pair) => pair[which === 0 ? "a" : "b"] === index);
      const cell = { query: at(this.#axes.rows, query), key: at(this.#axes.columns, key) };
      return cell.query < 0 || cell.key < 0 ? undefined : cell;
    };
    const cellIn = (session: number, { query, key }: TokenPair): TokenPair | undefined => {
      const [row, column] = [this.#axes.rows[query], this.#axes.columns[key]];
      if (row === undefined || column === undefined) return undefined;
      if (session === 2) return { query, key };
      const part = session === 0 ? "a" : "b";
      return { query: row[part], key: column[part] };
    };
    const cursor = placeOf(from.state);
    const hover = from.hover && placeOf(from.hover);
    this.#linking = true;
    for (const [n, session] of this.#sessions.entries()) {
      if (session === from || session.store === undefined) continue;
      const cell = cursor && cellIn(n, cursor);
      if (cell) session.set({ ...cell, pinned: null }, "replace");
      session.point((hover && cellIn(n, hover)) || null);
    }
    this.#linking = false;
  }

  #render(): void {
    const { session } = this.#context;
    const second = this.#second;
    const other = this.#other;
    const set = (patch: Partial<SecondHead>) => session.set({ other: { ...other, ...patch } });
    render(
      this.#chooser(session, session.state, "A", (patch) =>
        session.set({ ...(patch.block !== undefined && WITHOUT_TOKENS), ...patch }),
      ),
      this.#heads[0],
    );
    render(this.#chooser(second, other, "B", set), this.#heads[1]);
    render(
      html`<h2>A − B</h2><p class="quiet">blue: more in A · ${session.dark ? "orange" : "brown"}: more in B${this.#scale()}${this.#models()}</p>`,
      this.#heads[2],
    );
    const text = session.sources[other.text]?.model?.text;
    render(
      causesPanel(session, { text: other.text === session.state.text ? undefined : text }),
      this.#causes,
    );
    this.root.classList.toggle("caused", session.state.cause !== "off" && hasCauses(session));
    render(this.#sentence(), this.#cellLine);
  }

  #scale(): TemplateResult | string {
    const { domain } = this.#matrices[2];
    return domain === undefined
      ? ""
      : html` · full color at ±${numeral(domain, "largest difference", { digits: 2 })}`;
  }

  /** The two models, if they differ: heads with the same number have nothing in common. */
  #models(): string {
    const [a, b] = [this.#context.session, this.#second].map(({ store }) => store?.report.model);
    return a && b && a !== b ? ` · two models: ${a} and ${b}` : "";
  }

  #chooser(
    of: Session,
    { text }: Pick<SecondHead, "text">,
    letter: string,
    set: (patch: Partial<SecondHead>) => void,
  ): TemplateResult {
    const { sources } = this.#context.session;
    const { block, store } = of;
    const list = (
      label: string,
      names: readonly (string | number)[],
      at: number,
      go: (n: number) => void,
    ) => {
      const options = names.map((name, n) => [String(n), String(name)] as const);
      return select(label, options, String(at), (n) => go(Number(n)), label.startsWith("text") ? "wide" : "");
    };
    const texts = sources.map(({ name }) => name);
    const blocks = store?.blocks.map(({ name }) => name) ?? [];
    return html`<h2>${letter}</h2><div class="chooser">
      ${texts.length > 1 ? list(`text ${letter}`, texts, text, (n) => set({ text: n })) : ""}
      ${block && blocks.length > 1 ? list("block", blocks, blocks.indexOf(block.name), (n) => set({ block: blocks[n] })) : ""}
      ${block && list("layer", block.layers, block.layers.indexOf(of.state.layer), (n) => set({ layer: block.layers[n] }))}
      ${block && list("head", [...Array(block.heads).keys()], of.state.head, (n) => set({ head: n }))}
    </div>`;
  }

  /** The value of the hovered cell in both heads, and the difference. */
  #sentence(): TemplateResult | string {
    const { session } = this.#context;
    const second = this.#second;
    if (!session.ready || !second.ready || this.#axes.rows.length === 0) return "";
    const [one, other] = [session.pointed, second.pointed];
    const paired =
      this.#axes.rows.some(({ a, b }) => a === one.query && b === other.query) &&
      this.#axes.columns.some(({ a, b }) => a === one.key && b === other.key);
    const of = (which: Session, { query, key }: TokenPair) => {
      const names = which.labels(which.block!);
      return html`${quoted(names.query[query], names.lang.query)} → ${quoted(names.key[key], names.lang.key)}`;
    };
    const { stage } = session.state;
    const a = shownRow(session, one.query)[one.key];
    if (!paired)
      return html`${of(session, one)}: ${numeral(a, `row ${stage}`)} in A. These tokens are in one of the texts only.`;
    const b = shownRow(second, other.query)[other.key];
    return html`<strong>A</strong> ${of(session, one)}: ${numeral(a, `row ${stage}`)}.
      <strong>B</strong> ${of(second, other)}: ${numeral(b, `row ${stage}`)}.
      Difference ${numeral(a - b, "difference")}. <span class="quiet">${STAGE_MEANINGS[stage]}</span>`;
  }
}
