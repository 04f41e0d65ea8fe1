/**
 * All heads at once: layers × heads as thumbnails that keep thin patterns, all on one color scale. In the left column it is as
 * high as it needs; in the model view it can be panned and zoomed. Hovering previews a head, a click moves the cursor,
 * Shift+click pins, a double click opens the head.
 */

import { codeOf } from "../../../src/store/measures/transfer.ts";
import type { Session } from "../../app/session.ts";
import { cellSize, fitted, pan, type Scene, settle, zoom } from "../../canvas/camera.ts";
import { type Paints, paintsOf, rampOf, wordsOf } from "../../canvas/colors.ts";
import { HIDDEN, make } from "../../canvas/dom.ts";
import { DrawnPane, resizeCanvas } from "../../canvas/drawn-pane.ts";
import { listen, type PointerPoint } from "../../canvas/gestures.ts";
import { Grid, type Gridded } from "../../canvas/grid.ts";
import { answersOf } from "../../state/ask.ts";
import { ablatedHead } from "../../state/causes/ablation.ts";
import { arrange, type HeadGrid, type PlacedHead } from "../../state/metrics.ts";
import { BY_PATTERN, type HeadName, sameHead, togglePin } from "../../state/state.ts";
import type { PixelBox } from "../matrix/frame.ts";
import { crossOut, outline, writeName } from "./marks.ts";
import type { Overviews } from "./overviews.ts";
import { Pager } from "./pager.ts";
import { thumbnailShape } from "./shape.ts";

export interface AtlasHost {
  readonly session: Session;
  readonly overviews: Overviews;
  readonly takesWheel: (event: WheelEvent) => boolean;
  readonly describe: (head: HeadName, full: boolean) => string;
  /** Shows a preview of the head under the pointer; undefined hides it. */
  readonly preview: (head: HeadName | undefined, at?: PointerPoint) => void;
  readonly openHead: () => void;
}

/** Pixels for the names at the left and the top. */
const LEFT = 26;
const TOP = 18;

/** The minimum size in pixels of a thumbnail with a name, and of any. */
const NAMED = 36;
const SMALLEST = 18;
/** Heads beyond which a layer takes several rows of the left column. */
const WRAPPED = 16;
/** Thumbnails beyond which only visible ones are computed. */
const MANY = 640;

export class Atlas extends DrawnPane {
  readonly #host: AtlasHost;
  /** It can be panned and zoomed; else it is as high as it needs. */
  readonly #large: boolean;
  readonly #canvas = make("canvas", "", HIDDEN);
  readonly #grid = new Grid(() => this.#gridded());
  readonly #pager = new Pager(() => {
    this.#drawn = "";
    this.schedule();
  });
  /** The weights of the question "ask the heads" by layer and head; undefined: nothing is asked. */
  #weights: ReadonlyMap<string, number> | undefined;
  #drawn = "";
  #paints: Paints | undefined;
  #arranged: HeadGrid = { placed: [], rows: 0, columns: 0, rowNames: [], columnNames: [], group: 1 };
  #scene: Scene | undefined;
  #view = { scale: 1, x: 0, y: 0 };

  constructor(host: AtlasHost, large: boolean) {
    super(large ? "atlas large" : "atlas");
    this.#host = host;
    this.#large = large;
    this.root.append(this.#canvas, this.#grid.root, this.#pager.root);
    this.#listen();
  }

  restyle(): void {
    this.#paints = undefined;
    this.schedule();
  }

  focus(): void {
    if (this.root.isConnected) this.draw();
    this.#grid.focus();
  }

  /** The head at an offset from the cursor's, in rows and columns. */
  headAt(rows: number, columns: number): HeadName | undefined {
    const here = this.#arranged.placed.find((head) => sameHead(head, this.#host.session.state));
    if (here === undefined) return undefined;
    const [row, column] = [here.row + rows, here.column + columns];
    const within = (value: number, count: number) => Math.max(0, Math.min(count - 1, value));
    const [r, c] = [within(row, this.#arranged.rows), within(column, this.#arranged.columns)];
    return this.#arranged.placed.find((head) => head.row === r && head.column === c);
  }

  zoomBy(factor: number): void {
    const { session } = this.#host;
    if (this.#scene === undefined || !this.#large) return;
    const { width, height } = this.#scene;
    session.set({
      modelCamera:
        factor === 0 ? null : zoom(this.#scene, session.state.modelCamera, factor, width / 2, height / 2),
    });
  }

  protected paint(): void {
    const { session, overviews } = this.#host;
    const { block, state } = session;
    const [width] = this.size;
    if (block === undefined || width < 40) return;
    const { layer, head, pins, sort, descending, sortHow, filters, flipped, transfer, ramp, pool } = state;
    const answers = answersOf(session);
    this.#weights =
      answers && new Map(answers.map(({ ref, weight }) => [`${ref.layer} ${ref.head}`, weight]));
    const key = JSON.stringify([
      state.block,
      layer,
      head,
      pins,
      sort,
      descending,
      sortHow,
      filters,
      flipped,
      transfer,
      ramp,
      pool,
      state.ask,
      session.model !== undefined && state.ablated,
      answers !== undefined && [state.pinned, state.query, state.key],
      this.#large && state.modelCamera,
      session.hoverHead,
      session.dark,
      session.opened,
      session.measured,
      overviews.version,
      this.size,
      devicePixelRatio,
    ]);
    if (key === this.#drawn && this.#paints) return;
    this.#drawn = key;
    // In the left column the sorted list has fewer thumbnails per row, so that each has a name; layers that do not fit take several rows.
    const fits = (pixels: number) => Math.min(block.heads, Math.max(1, Math.floor((width - LEFT) / pixels)));
    this.#arranged = this.#large
      ? arrange(session)
      : arrange(
          session,
          state,
          fits(sort === "" ? (block.heads > WRAPPED ? SMALLEST : 0) : sort === BY_PATTERN ? 24 : NAMED),
        );
    const { rows, columns, placed } = this.#arranged;
    if (rows * columns === 0) return;
    const pages = this.#large ? undefined : this.#pager.rowsOf(session, this.#arranged);
    this.#paints ??= paintsOf(this.root);
    const shape = thumbnailShape(block);
    // The scale is the longer side of a thumbnail.
    const scale = Math.max(SMALLEST, Math.min(48, Math.floor((width - LEFT) / columns))) / shape[0];
    const shownRows = pages === undefined ? rows : pages.rows;
    const height = this.#large ? this.size[1] : Math.ceil(TOP + scale * shape[1] * shownRows + 2);
    this.#scene = {
      width: Math.max(16, (this.#large ? width : Math.max(width, LEFT + scale * shape[0] * columns)) - LEFT),
      height: Math.max(16, height - TOP),
      columns,
      rows: shownRows,
      shape,
      largest: this.#large ? 240 : scale,
      smallest: this.#large ? Math.max(22, Math.min(40, Math.floor((width - LEFT) / columns))) : scale,
      closest: 480,
    };
    this.#view = this.#large
      ? settle(this.#scene, state.modelCamera)
      : { ...fitted(this.#scene), y: pages?.first ?? 0 };
    const wanted = this.#wanted();
    overviews.want(wanted);
    session.store?.prioritize(wanted.map((name) => session.refOf(name)));
    const ratio = devicePixelRatio;
    const [w, h] = [this.#scene.width + LEFT, height];
    resizeCanvas(this.#canvas, w, h, ratio);
    const context = this.#canvas.getContext("2d")!;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, w, h);
    this.#names(context, w, h);
    context.save();
    context.beginPath();
    context.rect(LEFT - 4, TOP - 4, w - LEFT + 4, h - TOP + 4);
    context.clip();
    context.imageSmoothingEnabled = false;
    const drawn = pages
      ? placed.filter(({ row }) => row >= pages.first && row < pages.first + pages.rows)
      : placed;
    for (const head of drawn) this.#thumbnail(context, head, ratio);
    for (const head of session.model ? drawn : [])
      if (ablatedHead(state, head)) crossOut(context, this.#box(head), this.#paints);
    for (const head of drawn) outline(context, head, this.#box(head), this.#paints, session);
    if (state.sort !== "" && state.sort !== BY_PATTERN && state.sortHow === "list")
      for (const head of drawn) writeName(context, head, this.#box(head), this.#paints);
    context.restore();
    context.setTransform(1, 0, 0, 1, 0, 0);
    this.#grid.update();
  }

  /** All heads, the cursor's first and then the visible ones; of a model with very many heads, these. */
  #wanted(): HeadName[] {
    const { x, y } = this.#view;
    const { width, height } = this.#scene ?? { width: 0, height: 0 };
    const [w, h] = this.#slot;
    const isVisible = ({ row, column }: PlacedHead) =>
      row >= y - 1 && column >= x - 1 && row < y + height / h && column < x + width / w;
    const { placed } = this.#arranged;
    const { state } = this.#host.session;
    const order = (head: PlacedHead) => (sameHead(head, state) ? 0 : isVisible(head) ? 1 : 2);
    const wanted = placed.length > MANY ? placed.filter((head) => order(head) < 2) : placed;
    return wanted.toSorted((a, b) => order(a) - order(b));
  }

  /** Width and height of a thumbnail with the gap after it. */
  get #slot(): readonly [width: number, height: number] {
    return this.#scene === undefined ? [1, 1] : cellSize(this.#scene, this.#view.scale);
  }

  get #gap(): number {
    return this.#view.scale >= 40 ? 6 : 2;
  }

  #box({ row, column }: { row: number; column: number }): PixelBox {
    const [w, h] = this.#slot;
    const gap = this.#gap;
    return {
      x: LEFT + (column - this.#view.x) * w,
      y: TOP + (row - this.#view.y) * h,
      width: w - gap,
      height: h - gap,
    };
  }

  #thumbnail(context: CanvasRenderingContext2D, head: PlacedHead, ratio: number): void {
    const { session, overviews } = this.#host;
    const { x, y, width, height } = this.#box(head);
    const [w, h] = [this.#scene!.width + LEFT, this.#scene!.height + TOP];
    if (x + width < LEFT || y + height < TOP || x > w || y > h) return;
    const round = (value: number) => Math.round(value * ratio) / ratio;
    const [left, top] = [round(x), round(y)];
    const picture = overviews.picture(
      head,
      Math.round(width * ratio),
      Math.round(height * ratio),
      session.state.transfer,
    );
    context.globalAlpha = head.faded ? 0.15 : 1;
    context.strokeStyle = this.#paints!.line;
    context.lineWidth = 1 / ratio;
    // Lines around small thumbnails would fill the gaps between them.
    if (this.#gap > 2 || !picture)
      context.strokeRect(
        left - 0.5 / ratio,
        top - 0.5 / ratio,
        round(width) + 1 / ratio,
        round(height) + 1 / ratio,
      );
    const weight = this.#weights?.get(`${head.layer} ${head.head}`);
    if (weight !== undefined) {
      // The thumbnail is one cell: the weight of the link that is asked about.
      const { state, dark } = session;
      const words = wordsOf(rampOf(state.ramp, false, dark));
      const code = Number.isFinite(weight) ? codeOf(weight, state.transfer, 1) : 0;
      const [red, green, blue] = new Uint8Array(words.buffer, 4 * code, 3);
      context.fillStyle = `rgb(${red} ${green} ${blue})`;
      context.fillRect(left, top, round(width), round(height));
    } else if (picture) context.drawImage(picture, left, top, round(width), round(height));
    context.globalAlpha = 1;
  }

  /** Layers at the left, heads at the top, brackets over heads that share a key head. */
  #names(context: CanvasRenderingContext2D, width: number, height: number): void {
    const { rowNames, columnNames, columns, group } = this.#arranged;
    const paints = this.#paints!;
    const [slotWidth, slotHeight] = this.#slot;
    const { layer, head } = this.#host.session.state;
    context.font = `11px ${paints.mono}`;
    context.textBaseline = "middle";
    const every = (pixels: number) => Math.max(1, Math.ceil(16 / pixels));
    for (const [row, title] of this.#arranged.titles ?? []) {
      const { x, y, height: length } = this.#box({ row, column: 0 });
      if (y + length < TOP || y > height) continue;
      context.textAlign = "left";
      context.fillStyle = paints.second;
      context.fillText(title, x - LEFT + 2, y + length / 2 + 2);
    }
    context.textAlign = "right";
    for (let row = 0; row < rowNames.length; row += every(slotHeight)) {
      const { y, height: length } = this.#box({ row, column: 0 });
      if (y + length / 2 < TOP || y > height || (row > 0 && rowNames[row] === rowNames[row - 1])) continue;
      context.fillStyle = rowNames[row] === String(layer) ? paints.ink : paints.second;
      context.fillText(rowNames[row], LEFT - 6, y + length / 2);
    }
    context.textAlign = "center";
    for (let column = 0; column < columnNames.length; column += every(slotWidth)) {
      const { x, width: length } = this.#box({ row: 0, column });
      if (x + length / 2 < LEFT || x > width) continue;
      context.fillStyle = columnNames[column] === String(head) ? paints.ink : paints.second;
      context.fillText(columnNames[column], x + length / 2, 7);
    }
    if (group <= 1) return;
    context.strokeStyle = paints.key;
    context.lineWidth = 1;
    context.beginPath();
    for (let first = 0; first < columns; first += group) {
      const [left, right] = [
        this.#box({ row: 0, column: first }),
        this.#box({ row: 0, column: first + group - 1 }),
      ];
      const [from, to] = [Math.max(LEFT, left.x), right.x + right.width];
      if (to < LEFT) continue;
      context.moveTo(from + 0.5, TOP - 1);
      context.lineTo(from + 0.5, TOP - 3.5);
      context.lineTo(to - 0.5, TOP - 3.5);
      context.lineTo(to - 0.5, TOP - 1);
    }
    context.stroke();
  }

  #headAt([x, y]: PointerPoint): PlacedHead | undefined {
    const { x: left, y: top } = this.#view;
    if (x < LEFT || y < TOP) return undefined;
    const [w, h] = this.#slot;
    const [column, row] = [Math.floor((x - LEFT) / w + left), Math.floor((y - TOP) / h + top)];
    return this.#arranged.placed.find((head) => head.row === row && head.column === column);
  }

  #listen(): void {
    const { session, preview, openHead } = this.#host;
    const point = (at: PointerPoint | undefined) => {
      const head = at && this.#headAt(at);
      const before = session.hoverHead;
      preview(head, at);
      if (before === head || (before && head && sameHead(before, head))) return;
      session.hoverHead = head ?? null;
      session.changed();
    };
    let last: PointerPoint = [0, 0];
    listen(
      this.#canvas,
      {
        point: (at) => point(at),
        leave: () => point(undefined),
        tap: (at, event) => {
          const head = this.#headAt(at);
          if (head === undefined) return;
          const { block, layer, head: index } = head;
          if (event.shiftKey) session.set({ pins: togglePin(session.state.pins, head) });
          else session.set({ block, layer, head: index });
          this.focus();
        },
        double: (at) => {
          if (this.#headAt(at)) openHead();
        },
        drag: (phase, from, to) => {
          if (!this.#large || this.#scene === undefined) return;
          if (phase === "start") {
            last = from;
            point(undefined);
          }
          const modelCamera = pan(this.#scene, session.state.modelCamera, to[0] - last[0], to[1] - last[1]);
          last = to;
          session.set({ modelCamera }, "replace");
          if (phase === "end") session.changed("push");
        },
        zoom: (factor, [x, y]) => {
          if (!this.#large || this.#scene === undefined) return;
          session.set(
            { modelCamera: zoom(this.#scene, session.state.modelCamera, factor, x - LEFT, y - TOP) },
            "replace",
          );
        },
        zoomed: () => session.changed("push"),
        takesWheel: (event) => this.#large && this.#host.takesWheel(event),
      },
      this.listening.signal,
    );
  }

  #gridded(): Gridded | undefined {
    const { session, describe } = this.#host;
    const { placed, rows, columns, rowNames, columnNames } = this.#arranged;
    const here = placed.find((head) => sameHead(head, session.state));
    if (here === undefined) return undefined;
    return {
      label: "Layers and heads",
      rows,
      columns,
      row: here.row,
      column: here.column,
      selected: session.state.pins.some((pin) => sameHead(pin, here)),
      key: `${rowNames.join()} ${columnNames.join()}`,
      version: session.model === undefined ? "" : JSON.stringify(session.state.ablated),
      corner: "layer",
      rowName: (row) => `layer ${rowNames[row]}`,
      columnName: (column) => `head ${columnNames[column]}`,
      text: (row, column, full) => {
        const head = placed.find((one) => one.row === row && one.column === column);
        return head === undefined ? "" : describe(head, full);
      },
      box: this.#box(here),
    };
  }
}
