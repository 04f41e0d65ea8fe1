/**
 * The matrix of a head: a canvas for the cells, elements for labels, outlines and the accessible grid. It is notified when the
 * session has changed, and paints in the next frame; pointer gestures change the session (pointing.ts). paint.ts paints the
 * canvas, canvas/grid.ts is the grid for keyboards and screen readers.
 */
import { isSigned } from "../../../src/store/measures/transfer.ts";
import type { TokenLabels as Names, Session } from "../../app/session.ts";
import { axesOf, hiddenKeys, isRescaled } from "../../app/session.ts";
import type { Slices } from "../../app/time-slicer.ts";
import { type Axis, axisOf, indexAt, placeOf } from "../../canvas/axis.ts";
import { reveal, zoom } from "../../canvas/camera.ts";
import { type Paints, paintsOf, rampOf, wordsOf } from "../../canvas/colors.ts";
import { HIDDEN, make, put } from "../../canvas/dom.ts";
import { DrawnPane } from "../../canvas/drawn-pane.ts";
import { Grid, type Gridded } from "../../canvas/grid.ts";
import { Labels } from "../../canvas/labels.ts";
import { HeadFacts, isEndless } from "../../state/facts.ts";
import type { HeadName } from "../../state/state.ts";
import { cellValue } from "../../state/words.ts";
import type { Backdrop } from "./blit.ts";
import { boxOf, frameOf, type MatrixFrame, TICK } from "./frame.ts";
import { Marks } from "./marks.ts";
import { Minimap } from "./minimap.ts";
import { paint, resize } from "./paint.ts";
import { type Area, pointAt } from "./pointing.ts";
import { type TilePlan, Tiles } from "./tiles.ts";

/** What the matrix needs of its element. */
export interface Host {
  readonly session: Session;
  readonly slices: Slices;
  readonly takesWheel: (event: WheelEvent) => boolean;
  /** The text of a cell for screen readers; `full` for the cursor's. */
  readonly describe: (query: number, key: number, full: boolean) => string;
  /** The overview of the cursor's head as far as it is computed, with at most this size in device pixels. */
  readonly overview?: (width: number, height: number, fine: boolean) => HTMLCanvasElement | undefined;
  /** The heads that the next keys may show; their tiles are prefetched. */
  readonly neighbors?: () => readonly HeadName[];
  /** The labels of the pictures beside this one, which get the same space; undefined: this picture is alone. */
  readonly beside?: () => readonly Pick<Names, "query" | "key">[];
  /** No margins: the cells are not weights. */
  readonly bare?: boolean;
  /** Whether the overview is complete; undefined: it was not requested. */
  readonly overviewed?: () => "under way" | "done" | undefined;
}

/** Milliseconds without a painting before the tiles of other heads are prefetched. */
const IDLE = 100;

export class Matrix extends DrawnPane {
  /** The value at full color of the last painting, for the legend. */
  domain: number | undefined;
  readonly #host: Host;
  readonly #canvas = make("canvas", "cells", HIDDEN);
  readonly #ghost = make("canvas", "cells ghost", HIDDEN);
  readonly #area = make("div", "area");
  readonly #rowLabels = new Labels("rows");
  readonly #columnLabels = new Labels("columns");
  readonly #marks = new Marks();
  readonly #grid: Grid;
  /** The `opened` counter of the session at the last drawing. */
  #drawn = -1;
  readonly #tiles: Tiles;
  readonly #minimap: Minimap;
  #frame: MatrixFrame | undefined;
  #axes: { rows: Axis; columns: Axis } = { rows: axisOf(0), columns: axisOf(0) };
  #plan: TilePlan | undefined;
  #facts: HeadFacts | undefined;
  #factsKey = "";
  #paints: Paints | undefined;
  #painted = "";
  #look = "";
  /** The tokens of the picture's rows and columns. */
  #tokens = "";
  #missing = 0;
  #idle: ReturnType<typeof setTimeout> | undefined;

  constructor(host: Host) {
    super("matrix waiting");
    this.#host = host;
    this.#grid = new Grid(() => this.#gridded());
    this.#tiles = new Tiles(
      host.slices,
      () => this.schedule(true),
      (error) => host.session.failed(error),
    );
    this.#minimap = new Minimap(
      this.#tiles,
      (camera, how) => host.session.set({ camera }, how),
      this.listening.signal,
    );
    this.#area.append(...this.#marks.all, this.#grid.root);
    const labels = [this.#columnLabels.root, this.#rowLabels.root];
    this.root.append(this.#canvas, this.#ghost, ...labels, this.#area, this.#minimap.root);
    const area: Area = {
      session: host.session,
      cells: this.#area,
      rows: this.#rowLabels.root,
      columns: this.#columnLabels.root,
      frame: () => this.#frame,
      axes: () => this.#axes,
      takesWheel: host.takesWheel,
      band: (band) => {
        this.#marks.band = band;
        this.schedule();
      },
      focus: () => this.focus(),
    };
    pointAt(area, this.listening.signal);
  }

  override disconnect(): void {
    super.disconnect();
    clearTimeout(this.#idle);
    this.#tiles.clear();
    this.#painted = "";
  }

  /** How many tiles have not arrived. */
  get waiting(): number {
    return Math.max(this.#missing, this.#tiles.waiting);
  }

  /** Repaints if the overview is visible: where tiles are missing, or instead of tiles. */
  overviewed(): void {
    if (this.waiting > 0 || this.#host.session.state.pool === "mean") this.schedule(true);
    else this.#startIdle();
  }

  /** Focuses the cursor's cell. */
  focus(): void {
    // The grid has the rows and columns of the last drawing, which may have shown another file.
    if (this.root.isConnected) this.draw();
    this.#grid.focus();
  }

  /** Colors may have changed. */
  restyle(): void {
    this.#paints = undefined;
    this.schedule(true);
  }

  protected override outdated(): void {
    this.#painted = "";
  }

  protected paint(): void {
    const { session } = this.#host;
    const { block, store, state } = session;
    const [width, height] = this.size;
    if (block === undefined || store === undefined || width < 40 || height < 40 || !session.ready) return;
    const names = session.labels(block);
    this.#axes = axesOf(block, state);
    this.#drawn = session.opened;
    const { rows, columns } = this.#axes;
    this.#frame = frameOf(width, height, rows, columns, [names, ...(this.#host.beside?.() ?? [])], state);
    this.#paints ??= paintsOf(this.root);
    this.#plan = this.#planOf();
    const facts = this.#host.bare || isEndless(block) ? undefined : this.#factsOf(this.#plan);
    const ratio = devicePixelRatio;
    // A difference is a new store for each pair of heads: its tokens are known by their names.
    const tokens = JSON.stringify([this.#host.bare ? names : [session.opened, state.block], rows, columns]);
    // The previous picture stays until the next one is complete, unless its rows and columns are other tokens.
    if (tokens !== this.#tokens) {
      this.#look = "";
      for (const canvas of [this.#canvas, this.#ghost]) resize(canvas, [0, 0]);
    }
    this.#tokens = tokens;
    const look = this.#lookOf(this.#plan);
    const { x, y, cellWidth, cellHeight } = this.#frame;
    const size = [width, height, ratio, x, y, cellWidth, cellHeight];
    const key = [look, state.pool, size, state.values, facts?.rows].join(" ");
    if (key !== this.#painted) {
      if (this.#look !== "" && look !== this.#look) this.#fade();
      const backdrop = this.#backdrop(ratio);
      const done = paint(this.#canvas.getContext("2d")!, this.#tiles, {
        size: [Math.round(width * ratio), Math.round(height * ratio)],
        frame: this.#frame,
        ratio,
        plan: this.#plan,
        rows,
        columns,
        paints: this.#paints,
        facts: facts && (facts.isComplete || facts.entropy.length > 512) ? facts : undefined,
        readRow: (query) => session.row(query, state.stage),
        backdrop,
        tiled: !this.#meaned(ratio),
        ...(state.values && { value: (query: number, key: number) => cellValue(session, query, key) }),
      });
      if (backdrop?.waiting !== true)
        this.#minimap.update(this.#plan, this.#frame, state.camera !== null, this.#paints, ratio);
      this.#tiles.settle();
      this.#missing = done.missing;
      if (done.shown) {
        this.#look = look;
        // The legend shows it.
        if (!Object.is(this.domain, done.domain)) session.changed();
        this.domain = done.domain;
      }
      this.#painted = key;
      this.root.classList.toggle("waiting", done.missing > 0 || !done.shown);
      this.#startIdle();
      this.root.dispatchEvent(new CustomEvent("painted", { detail: done }));
    }
    this.#place();
  }

  /** Prefetches after a while without a painting and without a new overview. */
  #startIdle(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#prefetch(), IDLE);
  }

  /** Requests the tiles that the next heads will draw. A domain of the head's own is not known for another head. */
  #prefetch(): void {
    const [plan, { session, neighbors }] = [this.#plan, this.#host];
    if (plan && neighbors && plan.domain === undefined)
      this.#tiles.prefetch(neighbors().map((head) => ({ ...plan, ref: session.refOf(head) })));
  }

  /** The overview of the head, if it shows the same values as the tiles. */
  #backdrop(ratio: number): Backdrop | undefined {
    const { session, overview, overviewed } = this.#host;
    const { state, block } = session;
    const { rows, columns } = this.#axes;
    const isEntire = rows.count === block!.Nq && columns.count === block!.Nk;
    if (!isEntire || state.stage !== "weights" || this.#plan!.domain !== undefined || this.#plan!.rowMax)
      return undefined;
    if (this.#plan!.renormalize) return undefined;
    const { usedWidth, usedHeight } = this.#frame!;
    const [width, height] = [Math.round(usedWidth * ratio), Math.round(usedHeight * ratio)];
    // Tiles are pooled by maximum; only the overview has the mean.
    if (this.#meaned(ratio)) return { picture: overview?.(width, height, true), waiting: false };
    const how = overviewed?.();
    return how && { picture: overview?.(width, height, false), waiting: how === "under way" };
  }

  /** Whether cells are merged by their mean. */
  #meaned(ratio: number): boolean {
    const { cellWidth, cellHeight } = this.#frame!;
    const { pool, stage } = this.#host.session.state;
    return pool === "mean" && stage === "weights" && Math.min(cellWidth, cellHeight) * ratio < 1;
  }

  /** The data and the colors of the next painting. */
  #planOf(): TilePlan {
    const { session } = this.#host;
    const { state } = session;
    const score = isSigned(state.stage);
    const hidden = hiddenKeys(session.block!, state);
    return {
      store: session.store!,
      ref: session.ref,
      stage: state.stage,
      transfer: score ? "linear" : state.transfer,
      colors: wordsOf(rampOf(state.ramp, score, session.dark)),
      hidden,
      renormalize: isRescaled(state) && hidden.length > 0,
      rowMax: state.domain === "row",
      ...(session.headMax !== undefined && { domain: session.headMax }),
    };
  }

  #lookOf({ store: _, colors, ...plan }: TilePlan): string {
    return JSON.stringify([this.#host.session.opened, this.#tokens, plan, colors[0], colors[255]]);
  }

  /** The facts of the rows, collected in idle slices. */
  #factsOf({ store, ref, hidden, renormalize }: TilePlan): HeadFacts {
    const key = `${ref.block} ${ref.layer} ${ref.head} ${renormalize} ${hidden.join()}`;
    if (
      this.#facts === undefined ||
      key !== this.#factsKey ||
      this.#host.session.store !== this.#facts.store
    ) {
      this.#factsKey = key;
      const facts = new HeadFacts(store, ref, hidden, renormalize);
      this.#facts = facts;
      let reportedAt = 0;
      this.#host.slices.add(() => {
        // The store may have been closed in the meantime.
        const current = facts === this.#facts && facts.store === this.#host.session.store;
        if (!current || !this.root.isConnected) return false;
        const more = facts.step();
        if (!more || facts.rows - reportedAt >= 512) {
          reportedAt = facts.rows;
          this.schedule();
        }
        return more;
      });
    }
    return this.#facts;
  }

  /** Fades the previous picture out over the new one. */
  #fade(): void {
    if (this.#host.session.still) return;
    const { width, height, style } = this.#canvas;
    const context = this.#ghost.getContext("2d")!;
    resize(this.#ghost, [width, height]);
    this.#ghost.style.cssText = style.cssText;
    context.clearRect(0, 0, width, height);
    context.drawImage(this.#canvas, 0, 0);
    this.#ghost.animate([{ opacity: 1 }, { opacity: 0 }], {
      duration: 240,
      easing: "ease-out",
      fill: "both",
    });
  }

  /** Positions labels, outlines and the grid. */
  #place(): void {
    const { session } = this.#host;
    const { state, hover } = session;
    const frame = this.#frame!;
    const { rows, columns } = this.#axes;
    const names = session.labels(session.block!);
    const faded = new Set(hiddenKeys(session.block!, state));
    put(this.#area, { left: frame.left, top: frame.top, width: frame.usedWidth, height: frame.usedHeight });
    put(this.#rowLabels.root, { top: frame.top, width: frame.left - 8 - TICK, height: frame.usedHeight });
    put(this.#columnLabels.root, {
      left: frame.left,
      height: frame.top - 6 - TICK,
      width: frame.usedWidth + frame.right,
    });
    // A longer name is cut off with an ellipsis.
    const lean = (frame.top - 14 - TICK) / 0.866;
    this.#columnLabels.root.style.setProperty("--lean", `${lean.toFixed(1)}px`);
    this.#area.classList.toggle("zoomed", state.camera !== null);
    this.#rowLabels.update(
      rows,
      names.query,
      { pixels: frame.cellHeight, from: frame.y, length: frame.usedHeight },
      { cursor: state.query, pointed: hover?.query, chosen: new Set(state.rows), faded: new Set() },
      names.lang.query,
    );
    this.#columnLabels.update(
      columns,
      names.key,
      { pixels: frame.cellWidth, from: frame.x, length: frame.usedWidth },
      { cursor: state.key, pointed: hover?.key, chosen: new Set(state.columns), faded },
      names.lang.key,
    );
    this.#marks.update(frame, this.#axes, session);
    this.#grid.update();
  }

  /** The content of the grid. */
  #gridded(): Gridded | undefined {
    const { session, describe } = this.#host;
    const { block, state } = session;
    const frame = this.#frame;
    // The rows and columns of a file are not known before its first drawing.
    if (block === undefined || frame === undefined || this.#drawn !== session.opened) return undefined;
    const { rows, columns } = this.#axes;
    const names = session.labels(block);
    const box = boxOf(frame, this.#axes, state.query, state.key);
    const within = (value: number, size: number) => Math.max(0, Math.min(size - 1, value));
    return {
      label: `Layer ${state.layer}, head ${state.head}: ${state.stage}. Rows are queries, columns are keys.`,
      rows: rows.count,
      columns: columns.count,
      row: placeOf(rows, state.query) ?? 0,
      column: placeOf(columns, state.key) ?? 0,
      selected: state.pinned !== null,
      lang: names.lang,
      key: `${session.opened} ${state.block} ${rows.runs[0]?.start} ${columns.runs[0]?.start}`,
      version: this.#look,
      corner: "query",
      rowName: (place) => names.query[indexAt(rows, place) ?? 0],
      columnName: (place) => names.key[indexAt(columns, place) ?? 0],
      text: (row, column, full) => describe(indexAt(rows, row) ?? 0, indexAt(columns, column) ?? 0, full),
      box: box && {
        ...box,
        x: within(box.x - frame.left, frame.usedWidth),
        y: within(box.y - frame.top, frame.usedHeight),
      },
    };
  }

  /** Pans the picture so that the cursor's cell is visible. */
  follow(): void {
    const { session } = this.#host;
    const [row, column] = [
      placeOf(this.#axes.rows, session.state.query),
      placeOf(this.#axes.columns, session.state.key),
    ];
    if (this.#frame === undefined || row === undefined || column === undefined) return;
    const camera = reveal(this.#frame.scene, session.state.camera, column, row);
    if (camera !== session.state.camera) session.set({ camera }, "replace");
  }

  /** Zooms about the cursor, or about the center if the cursor is not visible. */
  zoomBy(factor: number): void {
    const { session } = this.#host;
    const frame = this.#frame;
    if (frame === undefined) return;
    const box = boxOf(frame, this.#axes, session.state.query, session.state.key);
    const middle = box ? [box.x + box.width / 2 - frame.left, box.y + box.height / 2 - frame.top] : [0, 0];
    const inside =
      middle[0] >= 0 && middle[0] <= frame.usedWidth && middle[1] >= 0 && middle[1] <= frame.usedHeight;
    const [x, y] = inside ? middle : [frame.usedWidth / 2, frame.usedHeight / 2];
    session.set({ camera: factor === 0 ? null : zoom(frame.scene, session.state.camera, factor, x, y) });
  }
}
