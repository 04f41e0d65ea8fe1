/**
 * The rollout as two pictures with a linked cursor: bands from layer to layer that lead to the target position, and the product
 * of all layers as a matrix, whose rows are targets and whose columns are input tokens.
 */
import { html, nothing, render, type TemplateResult } from "lit";
import { UnsupportedError } from "../../../src/core/errors.ts";
import { storeFrom } from "../../../src/store/layout/from.ts";
import { formatNumber } from "../../../src/store/text/number.ts";
import { legend } from "../../app/panels/legend.ts";
import { type Exports, Session } from "../../app/session.ts";
import { numeral, quoted } from "../../app/ui.ts";
import { axisOf } from "../../canvas/axis.ts";
import { type Paints, paintsOf } from "../../canvas/colors.ts";
import { HIDDEN, make, on, put } from "../../canvas/dom.ts";
import { DrawnPane, resizeCanvas } from "../../canvas/drawn-pane.ts";
import { Labels, labelWidth } from "../../canvas/labels.ts";
import { rankOf } from "../../state/facts.ts";
import { head } from "../head.ts";
import { Matrix } from "../matrix/matrix.ts";
import { matrix } from "../matrix/view.ts";
import { TablePane } from "../table/table.ts";
import type { Pane, PaneContext } from "../view.ts";
import { type Bands, bandsOf, flowBands } from "./bands.ts";
import { exportsOf } from "./exports.ts";
import { type ColumnPlace, paintBands, TOP } from "./paint.ts";
import { type Rolling, rolledOf } from "./rolled.ts";
import { specialShare } from "./side.ts";
import { flowTable } from "./table.ts";

export class FlowPane extends DrawnPane implements Pane {
  readonly #context: PaneContext;
  readonly #product = new Session();
  readonly #matrix: Matrix;
  readonly #canvas = make("canvas", "", HIDDEN);
  readonly #inputs = new Labels("rows");
  readonly #targets = new Labels("rows");
  readonly #stage = make("div", "flow-stage", {}, this.#canvas, this.#inputs.root, this.#targets.root);
  readonly #frame = make("div", "flow-matrix");
  readonly #heading = make("div", "flow-heading");
  readonly #under = make("div", "flow-under");
  readonly #sentence = make("p", "flow-said");
  readonly #table: TablePane;
  #stop: (() => void)[] = [];
  #paints: Paints | undefined;
  #bands: Bands | undefined;
  #place: ColumnPlace | undefined;
  #shown = "";
  #drawn = "";
  #exports: Exports | undefined;
  #linking = false;
  /** The column and position under the pointer; column 0 is the input. */
  #pointed: readonly [column: number, position: number] | undefined;

  constructor(context: PaneContext) {
    super("rollout cursor-keys");
    this.#context = context;
    const { session } = context;
    this.#product.failed = (error) => session.failed(error);
    this.#matrix = new Matrix({
      session: this.#product,
      slices: context.slices,
      takesWheel: context.takesWheel,
      describe: (query, key, full) => this.#describe(query, key, full),
      bare: true,
    });
    const part = (name: string, ...children: Element[]) =>
      make("section", "", { role: "group", "aria-label": name }, ...children);
    this.root.append(
      part("Flow through the layers", this.#heading, this.#stage, this.#sentence),
      part("Rollout", this.#under, this.#frame),
    );
    this.#table = new TablePane(session, context.slices, () => {
      const { done, version } = rolledOf(session);
      return done && { ...flowTable(session, done), key: String(version) };
    });
    this.#listen();
  }

  protected override get sized(): HTMLElement {
    return this.#stage;
  }

  override connect(): void {
    super.connect();
    const { session } = this.#context;
    this.#stop = [
      session.subscribe(() => this.#link(session, this.#product)),
      this.#product.subscribe(() => this.#link(this.#product, session)),
    ];
    this.#matrix.connect();
    this.#exports = exportsOf(() => {
      const { done, problem } = rolledOf(session);
      if (done === undefined)
        throw new UnsupportedError("rollout", problem ?? "the rollout is not computed yet");
      return { session, product: this.#product, rollout: done, bands: this.#bandsFor(done) };
    });
    session.exports = this.#exports;
    this.#link(session, this.#product);
  }

  override disconnect(): void {
    super.disconnect();
    for (const stop of this.#stop.splice(0)) stop();
    if (this.#context.session.exports === this.#exports) this.#context.session.exports = undefined;
    this.#matrix.disconnect();
    this.#table.disconnect();
  }

  override dispose(): void {
    super.dispose();
    this.#table.dispose();
    this.#matrix.dispose();
    this.#product.store?.dispose();
  }

  restyle(): void {
    this.#paints = undefined;
    this.#drawn = "";
    Object.assign(this.#product, { dark: this.#context.session.dark, still: this.#context.session.still });
    this.#matrix.restyle();
    this.schedule();
  }

  focus(): void {
    if (this.#tabled) this.#table.focus();
    else this.#matrix.focus();
  }

  follow(): void {
    if (this.#tabled) this.#table.follow();
    else this.#matrix.follow();
  }

  zoomBy(factor: number): void {
    this.#matrix.zoomBy(factor);
  }

  protected paint(): void {
    const { session } = this.#context;
    const { block, state } = session;
    if (block === undefined) return;
    const { done, problem, version } = rolledOf(session);
    this.root.classList.toggle("without", done === undefined);
    if (done !== undefined && !this.#tabled && !this.#matrix.root.isConnected)
      this.#frame.append(this.#matrix.root);
    this.#swap();
    // A matrix that is not shown would wait for a drawing that never happens.
    if (done === undefined || this.#tabled) this.#matrix.root.remove();
    const key = `${version} ${session.opened}`;
    if (done !== undefined && key !== this.#shown) {
      this.#shown = key;
      this.#open(done.matrix, done.tokens);
    }
    this.#mirror();
    render(this.#words(problem), this.#sentence);
    const [heading, under] = this.#titles();
    render(heading, this.#heading);
    render(under, this.#under);
    if (done === undefined || this.#tabled) return;
    this.#matrix.schedule();
    this.#paints ??= paintsOf(this.root);
    const [width, height] = [this.#stage.clientWidth, this.#stage.clientHeight];
    const ratio = devicePixelRatio;
    const look = [key, state.query, state.key, this.#pointed, session.dark, width, height, ratio].join(" ");
    if (look === this.#drawn || width < 60 || height < 60) return;
    this.#drawn = look;
    const names = session.labels(block);
    const named = labelWidth(names.key, Math.min(120, width * 0.28));
    const number = width < 420 ? 0 : 44;
    const place: ColumnPlace = {
      left: named + number + 12,
      right: width - named - 12,
      height: height - TOP - 4,
      pitch: (height - TOP - 4) / Math.max(1, done.tokens),
    };
    this.#place = place;
    this.#bands = this.#bandsFor(done);
    resizeCanvas(this.#canvas, width, height, ratio);
    const target = Math.min(state.query, done.tokens - 1);
    const inputs = done.matrix.subarray(target * done.tokens, (target + 1) * done.tokens);
    paintBands(this.#canvas.getContext("2d")!, {
      bands: this.#bands,
      place,
      paints: this.#paints,
      ratio,
      layers: done.layers,
      number,
      inputs,
      query: state.query,
      key: state.key,
      special: block.special.key,
      pointed: this.#pointed,
    });
    const axis = axisOf(done.tokens);
    const sight = { pixels: place.pitch, from: 0, length: place.height };
    const none = new Set<number>();
    const pointed = this.#pointed?.[1];
    const marks = { chosen: none, faded: none, pointed };
    for (const [labels, left, at, lang] of [
      [this.#inputs, 0, state.key, names.lang.key],
      [this.#targets, place.right + 8, state.query, names.lang.query],
    ] as const) {
      const texts = labels === this.#inputs ? names.key : names.query;
      labels.update(axis, texts, sight, { ...marks, cursor: at }, lang);
      put(labels.root, { left, top: TOP, width: named, height: place.height });
    }
    this.root.dispatchEvent(new CustomEvent("painted", { detail: { bands: this.#bands.bands.length } }));
  }

  /** The bands of the cursor: of the rollout of its query, or of the largest flow from its key to its query. */
  #bandsFor(done: Rolling): Bands {
    const { query, key } = this.#context.session.state;
    const target = Math.min(query, done.tokens - 1);
    return done.by === "flow"
      ? flowBands(done, target, Math.min(key, done.tokens - 1))
      : bandsOf(done, target);
  }

  /** Whether the table is shown instead of the pictures. */
  get #tabled(): boolean {
    return this.#context.session.state.table && rolledOf(this.#context.session).done !== undefined;
  }

  #swap(): void {
    const tabled = this.#tabled;
    this.root.classList.toggle("tabled", tabled);
    if (tabled !== this.#table.root.isConnected) this.#drawn = "";
    this.#table.place(this.root, tabled, this);
  }

  /** Opens the product as a store, so that the matrix shows it like any weights. */
  #open(product: Float64Array, N: number): void {
    const { block } = this.#context.session;
    const before = this.#product.store;
    const { name, queryTokens, keyTokens } = block!;
    const layers = [{ weights: { data: product, shape: [1, N, N] } }];
    const store = storeFrom({
      name: "rollout",
      blocks: [{ name, queryTokens, keyTokens, kind: "self", layers }],
    });
    this.#linking = true;
    this.#product.open(store);
    this.#linking = false;
    before?.dispose();
    this.#link(this.#context.session, this.#product);
  }

  /** Copies the theme and the color scale to the session of the product. */
  #mirror(): void {
    const { session } = this.#context;
    const { dark, still, state } = session;
    const product = this.#product;
    Object.assign(product, { dark, still });
    if (product.store === undefined) return;
    const { transfer, ramp, domain, pool } = state;
    this.#linking = true;
    const shown = { view: head.name, mode: matrix.name, transfer, ramp, domain, pool, values: true };
    product.set(shown, "replace");
    this.#linking = false;
  }

  /** Copies the cursor and the hovered cell from one session to the other. */
  #link(from: Session, to: Session): void {
    this.schedule();
    if (this.#linking || from.store === undefined || to.store === undefined) return;
    this.#linking = true;
    const { query, key } = from.state;
    if (query !== to.state.query || key !== to.state.key) to.set({ query, key, pinned: null }, "replace");
    to.point(from.hover);
    this.#linking = false;
  }

  #titles(): readonly [TemplateResult, TemplateResult] {
    const { session } = this.#context;
    const { block, state } = session;
    const names = session.labels(block!);
    const target = quoted(names.query[state.query] ?? "", names.lang.query);
    if (rolledOf(session).done?.by === "flow")
      return [
        html`<h2>The largest flow to ${target}</h2><p class="quiet">From the input token ${quoted(names.key[state.key] ?? "", names.lang.key)}. A link carries at most its weight. Numbers: share of all flows to ${target}.</p>`,
        html`<h2>The largest flow of each pair</h2><p class="quiet">Rows: positions after the last layer, as shares. Columns: input tokens. ${legend(this.#product, this.#matrix.domain, { weightsOnly: true })}</p>`,
      ];
    return [
      html`<h2>How ${target} is made up, layer by layer</h2><p class="quiet">Left: the input tokens. Right: ${target} after the last layer. Width: share.</p>`,
      html`<h2>Rollout: the product of all layers</h2><p class="quiet">Rows: positions after the last layer. Columns: input tokens. ${legend(this.#product, this.#matrix.domain, { weightsOnly: true })}</p>`,
    ];
  }

  /** The sentence below the bands: about the hovered position, about the drawn share, or why there is no flow. */
  #words(problem: string | undefined): TemplateResult {
    const { session } = this.#context;
    const { block, state } = session;
    const bands = this.#bands;
    const { done } = rolledOf(session);
    if (done === undefined)
      return html`<span role="status">${problem ?? progressOf(rolledOf(session).progress)}</span>`;
    if (bands === undefined) return html``;
    const names = session.labels(block!);
    const target = quoted(names.query[state.query] ?? "", names.lang.query);
    if (done.by === "flow") {
      const amount = bands.shares[this.#pointed?.[0] ?? bands.shares.length - 1];
      const at = this.#pointed?.[1] ?? state.query;
      const input = quoted(names.key[state.key] ?? "", names.lang.key);
      const value = numeral(amount?.[at] ?? 0, "attentionFlow");
      return this.#pointed === undefined
        ? html`<span class="quiet">At most ${value} of ${target} can come from ${input}. Click a token at the left to choose the input, at the right the target.</span>`
        : html`${value} passes through ${quoted(names.key[at] ?? "", names.lang.key)} ${this.#pointed[0] === 0 ? "as the input" : html`after layer ${done.layers[this.#pointed[0] - 1]}`}.`;
    }
    const aside = specialShare(bands.shares[0], block!.special.key);
    const gray =
      aside > 0
        ? html`Gray: ${numeral(aside, "rollout", { style: "percent" })} comes from special tokens. `
        : nothing;
    if (this.#pointed === undefined)
      return html`<span class="quiet">${gray}Bands drawn carry ${numeral(bands.drawn, "rollout bands", { style: "percent", round: "down" })} of the flow. Click a token at the right to choose the target.</span>`;
    const [column, position] = this.#pointed;
    const share = bands.shares[column]?.[position] ?? 0;
    const at = quoted(names.key[position] ?? "", names.lang.key);
    const value = numeral(share, "rollout", { style: "percent" });
    return column === 0
      ? html`${value} of ${target} comes from the input token ${at}.`
      : html`${value} of what ends in ${target} is at the position of ${at} after layer ${done.layers[column - 1]}.`;
  }

  #describe(query: number, key: number, full: boolean): string {
    const { session } = this.#context;
    const product = this.#product;
    if (session.block === undefined || product.store === undefined || !product.ready) return "";
    const names = session.labels(session.block);
    const row = product.row(query, "weights");
    const text = `${formatNumber(row[key])}, ${names.query[query]} from ${names.key[key]}`;
    if (!full) return text;
    const { rank, of } = rankOf(row, key);
    return `${text}, rank ${formatNumber(rank)} of ${formatNumber(of)}. ${rolledOf(session).done?.by === "flow" ? "Attention flow" : "Rollout"}.`;
  }

  #listen(): void {
    const { signal } = this.listening;
    const { session } = this.#context;
    const at = (event: PointerEvent | MouseEvent): readonly [number, number] | undefined => {
      if (this.#place === undefined || this.#bands === undefined) return undefined;
      const box = this.#stage.getBoundingClientRect();
      const { left, right, pitch } = this.#place;
      const columns = this.#bands.shares.length;
      const share = (event.clientX - box.left - left) / Math.max(1, right - left);
      const column = Math.max(0, Math.min(columns - 1, Math.round(share * (columns - 1))));
      const position = Math.floor((event.clientY - box.top - TOP) / pitch);
      return position >= 0 && position < this.#bands.shares[0].length ? [column, position] : undefined;
    };
    const point = (to: readonly [number, number] | undefined) => {
      if (to?.[0] === this.#pointed?.[0] && to?.[1] === this.#pointed?.[1]) return;
      this.#pointed = to;
      session.hover = to?.[0] === 0 ? { query: session.state.query, key: to[1] } : null;
      session.changed();
    };
    on(this.#stage, signal, "pointermove", (event) => point(at(event)));
    on(this.#stage, signal, "pointerleave", () => point(undefined));
    on(this.#stage, signal, "click", (event) => {
      const hit = at(event);
      if (hit === undefined || this.#bands === undefined) return;
      const [column, position] = hit;
      session.set(column === this.#bands.shares.length - 1 ? { query: position } : { key: position });
    });
  }
}

/** The text while the rollout is computed. */
const progressOf = (done: number) =>
  `Multiplying the layers … ${done > 0 ? formatNumber(done, { style: "percent" }) : ""}`;
