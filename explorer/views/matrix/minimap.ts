/** A thumbnail of the whole head in a corner of a zoomed picture: it shows the visible part, and dragging moves that part. */
import type { Paints } from "../../canvas/colors.ts";
import { HIDDEN, make } from "../../canvas/dom.ts";
import { resizeCanvas } from "../../canvas/drawn-pane.ts";
import { listen } from "../../canvas/gestures.ts";
import type { Camera } from "../../state/state.ts";
import type { MatrixFrame } from "./frame.ts";
import { type TilePlan, type Tiles, topLevel } from "./tiles.ts";

/** The length of the longer edge in pixels. */
const EDGE = 112;
/** Heads with more tokens than this have a minimap. */
const MANY = 256;

export class Minimap {
  readonly root = make("canvas", "minimap", { ...HIDDEN, hidden: "" });
  #frame: MatrixFrame | undefined;
  readonly #tiles: Tiles;

  constructor(tiles: Tiles, move: (camera: Camera, how: "push" | "replace") => void, signal: AbortSignal) {
    this.#tiles = tiles;
    const go = ([x, y]: readonly [number, number], how: "push" | "replace") => {
      const frame = this.#frame;
      if (frame === undefined) return;
      const { columns, rows } = frame.scene;
      const [width, height] = [this.root.clientWidth, this.root.clientHeight];
      move(
        {
          scale: Math.min(frame.cellWidth, frame.cellHeight),
          x: (x / width) * columns - frame.usedWidth / frame.cellWidth / 2,
          y: (y / height) * rows - frame.usedHeight / frame.cellHeight / 2,
        },
        how,
      );
    };
    listen(
      this.root,
      {
        tap: (at) => go(at, "push"),
        drag: (phase, _from, to) => go(to, phase === "end" ? "push" : "replace"),
      },
      signal,
    );
  }

  update(plan: TilePlan, frame: MatrixFrame, zoomed: boolean, paints: Paints, ratio: number): void {
    const { Nq, Nk } = plan.store.blocks[plan.ref.block];
    const { columns, rows } = frame.scene;
    this.#frame = frame;
    this.root.hidden = !zoomed || Math.max(Nq, Nk) <= MANY || columns !== Nk || rows !== Nq;
    if (this.root.hidden) return;
    const top = this.#tiles.get(plan, topLevel(Nq, Nk), 0, 0);
    if (top === undefined) return;
    const scale = EDGE / Math.max(columns, rows);
    const [width, height] = [columns, rows].map((count) => Math.max(8, Math.round(count * scale)));
    const [w, h] = [width, height].map((length) => Math.round(length * ratio));
    resizeCanvas(this.root, width, height, ratio);
    const context = this.root.getContext("2d")!;
    context.imageSmoothingEnabled = false;
    context.fillStyle = paints.paper;
    context.fillRect(0, 0, w, h);
    context.drawImage(top.canvas, 0, 0, top.columns, top.rows, 0, 0, w, h);
    const viewport = [
      (frame.x / columns) * w,
      (frame.y / rows) * h,
      Math.max(4, (frame.usedWidth / frame.cellWidth / columns) * w),
      Math.max(4, (frame.usedHeight / frame.cellHeight / rows) * h),
    ] as const;
    context.lineWidth = 4 * ratio;
    context.strokeStyle = paints.paper;
    context.strokeRect(...viewport);
    context.lineWidth = 2 * ratio;
    context.strokeStyle = paints.query;
    context.strokeRect(...viewport);
  }
}
