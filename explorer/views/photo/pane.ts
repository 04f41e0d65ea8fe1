/**
 * The picture of a head on the photograph: the text view whose patches lie on their pictures. Next to it every head of the layer, as a
 * small map of the weights that the chosen patch or token gives to the picture, or gets from it.
 */
import { html, nothing } from "lit";
import type { PictureGrid } from "../../../src/store/block.ts";
import { combineRows } from "../../../src/store/measures/aggregate.ts";
import { codeOf } from "../../../src/store/measures/transfer.ts";
import { num } from "../../../src/store/text/number.ts";
import { numeral } from "../../app/ui.ts";
import { rampOf, wordsOf } from "../../canvas/colors.ts";
import { make, on } from "../../canvas/dom.ts";
import { StoreAnswers } from "../../state/answers.ts";
import type { Reading } from "../text/flow.ts";
import { isSingle, type TextHost, TextPane } from "../text/pane.ts";
import { PhotoPassage } from "./passage.ts";

/** Rows and columns of weights that are cached. */
const CACHED = 512;

/** A head of the layer: its button, its map, and what they show. */
interface HeadMap {
  readonly button: HTMLButtonElement;
  readonly canvas: HTMLCanvasElement;
  shown: string;
}

export class PhotoPane extends TextPane {
  readonly #title = make("h3");
  readonly #all = make("div", "maps");
  readonly #strip = make("div", "strip", { role: "group" }, this.#title, this.#all);
  #maps: HeadMap[] = [];
  readonly #weights: StoreAnswers<Float64Array>;

  constructor(host: TextHost) {
    const { session } = host;
    super(host, (role) => {
      const none: readonly PictureGrid[] = [];
      return new PhotoPassage(session, () => {
        const { block } = session;
        const has = block !== undefined && (role === "key" || isSingle(block));
        return (has && block.pictures) || none;
      });
    });
    this.#weights = new StoreAnswers(session, () => this.schedule(), CACHED);
    this.root.classList.add("photos");
    this.scroller.append(this.#strip);
    on(this.#strip, this.listening.signal, "click", (event) => {
      const button = (event.target as HTMLElement).closest<HTMLElement>("[data-head]");
      if (button) session.set({ head: Number(button.dataset.head) });
    });
  }

  /** Tokens are patches and pieces, never joined to words. */
  protected override get words(): boolean {
    return false;
  }

  protected override paint(): void {
    super.paint();
    const { reading } = this;
    if (reading !== undefined) this.#paintHeads(reading);
  }

  protected override reveal(reading: Reading): void {
    const role = reading.single ? "query" : this.activeSide(reading);
    const element = this.passages[role].element(this.activeUnit(reading));
    if (element === undefined) return;
    const [a, b] = [element.getBoundingClientRect(), this.scroller.getBoundingClientRect()];
    if (a.top < b.top) this.scroller.scrollTop -= b.top - a.top;
    else if (a.bottom > b.bottom) this.scroller.scrollTop += a.bottom - b.bottom;
  }

  /** Which tokens are the patches of which picture, and how much of the shown attention is on them. */
  protected override remarks({ block, target }: Reading): unknown {
    const { state } = this.host.session;
    const values = this.values?.values;
    const isShare = state.stage === "weights" && state.direction === "from" && target === "key";
    return block.pictures?.map(({ first, rows, columns }, n) => {
      const end = first + rows * columns;
      const share = isShare ? values?.slice(first, end).reduce((sum, x) => sum + x, 0) : undefined;
      return html`<p class="quiet">Tokens ${numeral(first, "first patch")} … ${numeral(end - 1, "last patch")} are ${numeral(rows, "rows of patches")} × ${numeral(columns, "columns of patches")} patches of image ${numeral(n + 1, "image")}${
        share === undefined || Number.isNaN(share)
          ? nothing
          : html`; they get ${numeral(share, "row weights", { style: "percent" })} of the attention`
      }.</p>`;
    });
  }

  /** The maps of all heads of the layer, over the picture that has the chosen patch, else over the first. */
  #paintHeads({ block, chosen, units, chooser, single }: Reading): void {
    const { session } = this.host;
    const { state, dark } = session;
    const { pictures = [] } = block;
    const tokens = chosen.map((unit) => units[chooser][unit].start);
    const isIn = ({ first, rows, columns }: PictureGrid) =>
      tokens[0] >= first && tokens[0] < first + rows * columns;
    const grid = (single || chooser === "key" ? pictures.find(isIn) : undefined) ?? pictures[0];
    // Of keys that are chosen in another text, no map over the picture can be drawn.
    this.#strip.hidden = grid === undefined || (state.direction === "to" && !single);
    if (this.#strip.hidden) return;
    this.#title.textContent = `Each head of layer ${state.layer}, up to its largest weight`;
    this.#strip.setAttribute("aria-label", this.#title.textContent);
    this.#fit(block.heads);
    const ramp = wordsOf(rampOf(state.ramp, false, dark));
    const names = session.labels(block);
    this.#maps.forEach((map, head) => {
      map.button.setAttribute("aria-pressed", String(head === state.head));
      const weights = this.#weightsOf(head, tokens);
      if (weights === undefined) return;
      const shown = `${state.block} ${state.layer} ${state.direction} ${tokens.join()} ${grid.first} ${state.ramp} ${dark} ${session.opened}`;
      if (map.shown === shown) return;
      map.shown = shown;
      const { first, rows, columns } = grid;
      const cells = weights.subarray(first, first + rows * columns);
      const best = cells.reduce((at, x, n) => (x > cells[at] ? n : at), 0);
      map.canvas.width = columns;
      map.canvas.height = rows;
      map.canvas.style.setProperty("aspect-ratio", `${columns} / ${rows}`);
      const image = new ImageData(columns, rows);
      const words = new Uint32Array(image.data.buffer);
      for (let n = 0; n < cells.length; n++) words[n] = ramp[codeOf(cells[n], "linear", cells[best] || 1)];
      map.canvas.getContext("2d")?.putImageData(image, 0, 0);
      map.button.title = `Head ${head}: strongest at ${names.key[first + best]}, ${num(cells[best], "row weights").text}`;
      map.button.setAttribute("aria-label", map.button.title);
    });
  }

  /** As many buttons as heads. */
  #fit(heads: number): void {
    if (this.#maps.length === heads) return;
    this.#maps = Array.from({ length: heads }, (_, head) => {
      const canvas = make("canvas");
      const name = make("span", "", {}, new Text(String(head)));
      const attributes = { type: "button", "data-head": String(head) };
      return { button: make("button", "", attributes, canvas, name), canvas, shown: "" };
    });
    this.#all.replaceChildren(...this.#maps.map(({ button }) => button));
  }

  /** The mean weights of the chosen rows or columns of a head; undefined while they are loaded. */
  #weightsOf(head: number, tokens: readonly number[]): Float64Array | undefined {
    const all = tokens.map((token) => this.#line(head, token));
    return all.includes(undefined) ? undefined : combineRows(all as Float64Array[], "mean");
  }

  /** One row or column of weights, cached. */
  #line(head: number, token: number): Float64Array | undefined {
    const { session } = this.host;
    const { state } = session;
    const ref = { ...session.ref, head };
    const key = `${ref.block} ${ref.layer} ${head} ${state.direction} ${token}`;
    return this.#weights.get(key, async (store) => {
      if (state.direction !== "from") return store.column(ref, token, "weights");
      await store.load(ref);
      return store.row(ref, token, "weights");
    });
  }
}
