/**
 * The rollout as two pictures with a linked cursor: bands from layer to layer that lead to the target position, and the product
 * of all layers as a matrix, whose rows are targets and whose columns are input tokens.
 */
import { html, nothing, render, type TemplateResult } from "lit";
import { UnsupportedError } from "../../../src/core/errors.ts";
import { storeFrom } from "../../../src/store/layout/from.ts";
import { formatNumber } from "../../../src/store/text/number.ts";
import { legend } from "../../app/panels/legend.ts";
import { type Cell, type Exports, Session } from "../../app/session.ts";
import { figure, quoted } from "../../app/ui.ts";
import { axisOf } from "../../canvas/axis.ts";
import { type Paints, paintsOf } from "../../canvas/colors.ts";
import { Labels, labelWidth } from "../../canvas/labels.ts";
import { rankOf } from "../../state/facts.ts";
import { Matrix } from "../matrix/matrix.ts";
import { TablePane } from "../table/table.ts";
import type { Pane, PaneContext } from "../view.ts";
import { type Bands, bandsOf, flowBands } from "./bands.ts";
import { exportsOf } from "./exports.ts";
import { type Rolling, rolledOf } from "./rolled.ts";
import { specialShare } from "./side.ts";
import { flowTable } from "./table.ts";

/** The pixels above the columns of tokens, and the maximum width of a band. */
const TOP = 22;
const MAX_WIDTH = 32;

/** The position of the columns in pixels. */
interface Place {
  readonly left: number;
  readonly right: number;
  readonly height: number;
  readonly pitch: number;
}

export class FlowPane implements Pane {
  readonly root = document.createElement("div");
  readonly #context: PaneContext;
  readonly #product = new Session();
  readonly #matrix: Matrix;
  readonly #stage = document.createElement("div");
  readonly #canvas = document.createElement("canvas");
  readonly #inputs = new Labels("rows");
  readonly #targets = new Labels("rows");
  readonly #frame = document.createElement("div");
  readonly #heading = document.createElement("div");
  readonly #under = document.createElement("div");
  readonly #said = document.createElement("p");
  readonly #probe = document.createElement("i");
  readonly #table: TablePane;
  readonly #sizes = new ResizeObserver(() => this.schedule());
  readonly #listening = new AbortController();
  #stop: (() => void)[] = [];
  #paints: Paints | undefined;
  #bands: Bands | undefined;
  #place: Place | undefined;
  #shown = "";
  #drawn = "";
  #due = 0;
  #exports: Exports | undefined;
  #linking = false;
  /** The column and position under the pointer; column 0 is the input. */
  #pointed: readonly [column: number, position: number] | undefined;

  constructor(context: PaneContext) {
    this.#context = context;
    const { session } = context;
    this.root.className = "rollout cursor-keys";
    this.#product.failed = (error) => session.failed(error);
    this.#matrix = new Matrix({
      session: this.#product,
      slices: context.slices,
      takesWheel: context.takesWheel,
      describe: (query, key, full) => this.#describe(query, key, full),
      failed: (error) => session.failed(error),
      overview: () => undefined,
      overviewed: () => undefined,
      bare: true,
    });
    this.#canvas.setAttribute("aria-hidden", "true");
    this.#probe.hidden = true;
    this.#stage.className = "flow-stage";
    this.#stage.append(this.#canvas, this.#inputs.root, this.#targets.root);
    this.#heading.className = "flow-heading";
    this.#under.className = "flow-under";
    this.#said.className = "flow-said";
    const part = (name: string, ...children: Element[]) => {
      const section = document.createElement("section");
      section.setAttribute("role", "group");
      section.setAttribute("aria-label", name);
      section.append(...children);
      return section;
    };
    const stage = this.#frame;
    stage.className = "flow-matrix";
    this.root.append(
      part("Flow through the layers", this.#heading, this.#stage, this.#said),
      part("Rollout", this.#under, stage),
      this.#probe,
    );
    this.#table = new TablePane(session, context.slices, {
      table: () => {
        const { done } = rolledOf(session);
        return done && flowTable(session, done);
      },
      key: () => String(rolledOf(session).version),
    });
    this.#listen();
  }

  connect(): void {
    const { session } = this.#context;
    this.#sizes.observe(this.#stage);
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

  disconnect(): void {
    for (const stop of this.#stop.splice(0)) stop();
    if (this.#context.session.exports === this.#exports) this.#context.session.exports = undefined;
    this.#sizes.disconnect();
    cancelAnimationFrame(this.#due);
    this.#due = 0;
    this.#matrix.disconnect();
    this.#table.disconnect();
  }

  dispose(): void {
    this.disconnect();
    this.#listening.abort();
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

  schedule(): void {
    if (this.#due === 0 && this.root.isConnected) this.#due = requestAnimationFrame(() => this.draw());
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

  draw(): void {
    cancelAnimationFrame(this.#due);
    this.#due = 0;
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
    render(this.#words(problem), this.#said);
    const [heading, under] = this.#titles();
    render(heading, this.#heading);
    render(under, this.#under);
    if (done === undefined || this.#tabled) return;
    this.#matrix.schedule();
    this.#paints ??= paintsOf(this.root, this.#probe);
    const [width, height] = [this.#stage.clientWidth, this.#stage.clientHeight];
    const ratio = devicePixelRatio;
    const look = [key, state.query, state.key, this.#pointed, session.dark, width, height, ratio].join(" ");
    if (look === this.#drawn || width < 60 || height < 60) return;
    this.#drawn = look;
    const names = session.labels(block);
    const named = labelWidth(names.key, Math.min(120, width * 0.28));
    const number = width < 420 ? 0 : 44;
    const place: Place = {
      left: named + number + 12,
      right: width - named - 12,
      height: height - TOP - 4,
      pitch: (height - TOP - 4) / Math.max(1, done.tokens),
    };
    this.#place = place;
    this.#bands = this.#bandsFor(done);
    this.#canvas.width = Math.round(width * ratio);
    this.#canvas.height = Math.round(height * ratio);
    this.#canvas.style.setProperty("width", `${width}px`);
    this.#canvas.style.setProperty("height", `${height}px`);
    const target = Math.min(state.query, done.tokens - 1);
    const inputs = done.matrix.subarray(target * done.tokens, (target + 1) * done.tokens);
    this.#paint(this.#canvas.getContext("2d")!, done.layers, ratio, number, inputs);
    const axis = axisOf(done.tokens);
    const sight = { pixels: place.pitch, from: 0, length: place.height };
    const none = new Set<number>();
    const pointed = this.#pointed?.[1];
    const marks = { chosen: none, faded: none, pointed };
    for (const [labels, left, at, lang] of [
      [this.#inputs, 0, state.key, names.lang.key],
      [this.#targets, place.right + 8, state.query, names.lang.query],
    ] as const) {
      labels.update(
        axis,
        labels === this.#inputs ? names.key : names.query,
        sight,
        { ...marks, cursor: at },
        lang,
      );
      const { style } = labels.root;
      style.setProperty("left", `${left}px`);
      style.setProperty("top", `${TOP}px`);
      style.setProperty("width", `${named}px`);
      style.setProperty("height", `${place.height}px`);
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
    const store = storeFrom({
      name: "rollout",
      blocks: [
        {
          name: block!.name,
          queryTokens: block!.queryTokens,
          keyTokens: block!.keyTokens,
          kind: "self",
          layers: [{ weights: { data: product, shape: [1, N, N] } }],
        },
      ],
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
    product.set({ view: "head", mode: "matrix", transfer, ramp, domain, pool, values: true }, "replace");
    this.#linking = false;
  }

  /** Copies the cursor and the hovered cell from one session to the other. */
  #link(from: Session, to: Session): void {
    this.schedule();
    if (this.#linking || from.store === undefined || to.store === undefined) return;
    this.#linking = true;
    const { query, key } = from.state;
    if (query !== to.state.query || key !== to.state.key) to.set({ query, key, pinned: null }, "replace");
    if (from.hover?.query !== to.hover?.query || from.hover?.key !== to.hover?.key) {
      to.hover = from.hover;
      to.changed();
    }
    this.#linking = false;
  }

  #paint(
    context: CanvasRenderingContext2D,
    layers: readonly number[],
    ratio: number,
    number: number,
    inputs: Float64Array,
  ): void {
    const paints = this.#paints!;
    const { left, right, pitch, height } = this.#place!;
    const { shares, bands } = this.#bands!;
    const { state } = this.#context.session;
    const columns = shares.length;
    const x = (column: number) => left + ((right - left) * column) / Math.max(1, columns - 1);
    const y = (position: number) => TOP + (position + 0.5) * pitch;
    const widest = Math.min(MAX_WIDTH, Math.max(6, pitch * 0.85));
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, context.canvas.width, context.canvas.height);
    context.font = `11px ${paints.mono}`;
    context.textBaseline = "middle";
    context.textAlign = "center";
    context.fillStyle = paints.second;
    const every = Math.max(1, Math.ceil(40 / Math.max(1, x(1) - x(0))));
    for (let column = 0; column < columns; column++)
      if (column === 0 || column === columns - 1 || (column % every === 0 && columns - 1 - column >= every))
        context.fillText(column === 0 ? "input" : `L${layers[column - 1]}`, x(column), 9);
    context.strokeStyle = paints.line;
    context.lineWidth = 1;
    context.beginPath();
    for (let column = 0; column < columns; column++) {
      context.moveTo(x(column), TOP);
      context.lineTo(x(column), TOP + height);
    }
    context.stroke();
    const lit = this.#pointed;
    const special = this.#context.session.block!.special.key;
    for (const { step, from, to, share } of bands) {
      // Bands from special tokens are gray: they have the largest shares of a rollout, and say little about a text.
      context.strokeStyle = special[from] ? paints.second : paints.weight;
      const touched =
        lit === undefined || (lit[0] === step && lit[1] === from) || (lit[0] === step + 1 && lit[1] === to);
      const [a, b] = [x(step), x(step + 1)];
      context.globalAlpha = touched ? Math.max(0.18, Math.min(0.8, 0.25 + share)) : 0.06;
      context.lineWidth = Math.max(0.6, share * widest);
      context.beginPath();
      context.moveTo(a, y(from));
      context.bezierCurveTo((a + b) / 2, y(from), (a + b) / 2, y(to), b, y(to));
      context.stroke();
    }
    context.globalAlpha = 1;
    for (const [column, share] of shares.entries())
      for (let position = 0; position < share.length; position++) {
        if (share[position] < 0.002) continue;
        const size = Math.max(1.5, share[position] * widest);
        const on = lit?.[0] === column && lit[1] === position;
        context.fillStyle =
          on || (column === columns - 1 && position === state.query)
            ? paints.query
            : special[position]
              ? paints.second
              : paints.weight;
        context.fillRect(x(column) - 2.5, y(position) - size / 2, 5, size);
      }
    if (number === 0 || pitch < 12) return;
    context.textAlign = "right";
    context.font = `11px ${paints.mono}`;
    for (let position = 0; position < inputs.length; position++) {
      context.fillStyle = position === state.key ? paints.ink : paints.second;
      context.fillText(percent(inputs[position]), left - 8, y(position));
    }
  }

  #titles(): readonly [TemplateResult, TemplateResult] {
    const { session } = this.#context;
    const { block, state } = session;
    const names = session.labels(block!);
    const target = quoted(names.query[state.query] ?? "", names.lang.query);
    if (rolledOf(session).done?.by === "flow")
      return [
        html`<h2>The largest flow to ${target}</h2><p class="quiet">From the input token ${quoted(names.key[state.key] ?? "", names.lang.key)}. A link carries at most its weight. Numbers: share of all flows to ${target}.</p>`,
        html`<h2>The largest flow of each pair</h2><p class="quiet">Rows: positions after the last layer, as shares. Columns: input tokens. ${legend(this.#product, this.#matrix.domain, true)}</p>`,
      ];
    return [
      html`<h2>How ${target} is made up, layer by layer</h2><p class="quiet">Left: the input tokens. Right: ${target} after the last layer. Width: share.</p>`,
      html`<h2>Rollout: the product of all layers</h2><p class="quiet">Rows: positions after the last layer. Columns: input tokens. ${legend(this.#product, this.#matrix.domain, true)}</p>`,
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
      const value = figure(amount?.[at] ?? 0, "attentionFlow");
      return this.#pointed === undefined
        ? html`<span class="quiet">At most ${value} of ${target} can come from ${input}. Click a token at the left to choose the input, at the right the target.</span>`
        : html`${value} passes through ${quoted(names.key[at] ?? "", names.lang.key)} ${this.#pointed[0] === 0 ? "as the input" : html`after layer ${done.layers[this.#pointed[0] - 1]}`}.`;
    }
    const aside = specialShare(bands.shares[0], block!.special.key);
    const gray =
      aside > 0
        ? html`Gray: ${figure(aside, "rollout", { style: "percent" })} comes from special tokens. `
        : nothing;
    if (this.#pointed === undefined)
      return html`<span class="quiet">${gray}Bands drawn carry ${figure(bands.drawn, "rollout bands", { style: "percent", round: "down" })} of the flow. Click a token at the right to choose the target.</span>`;
    const [column, position] = this.#pointed;
    const share = bands.shares[column]?.[position] ?? 0;
    const at = quoted(names.key[position] ?? "", names.lang.key);
    const value = figure(share, "rollout", { style: "percent" });
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
    return `${text}, rank ${formatNumber(rankOf(row, key))} of ${formatNumber(row.length)}. ${rolledOf(session).done?.by === "flow" ? "Attention flow" : "Rollout"}.`;
  }

  #listen(): void {
    const { signal } = this.#listening;
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
    this.#stage.addEventListener("pointermove", (event) => point(at(event)), { signal });
    this.#stage.addEventListener("pointerleave", () => point(undefined), { signal });
    this.#stage.addEventListener(
      "click",
      (event) => {
        const found = at(event);
        if (found === undefined || this.#bands === undefined) return;
        const [column, position] = found;
        const patch: Partial<Cell> =
          column === this.#bands.shares.length - 1 ? { query: position } : { key: position };
        session.set(patch);
      },
      { signal },
    );
  }
}

/** The text while the rollout is computed. */
const progressOf = (done: number) =>
  `Multiplying the layers … ${done > 0 ? formatNumber(done, { style: "percent" }) : ""}`;
const percent = (share: number) => formatNumber(share, { style: "percent", digits: 2 });
