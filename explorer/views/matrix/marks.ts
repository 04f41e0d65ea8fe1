/**
 * Outlines over the cells: the cursor, the hovered cell, the pinned cell, the selection, the rectangle being dragged, and the
 * ticks next to the cells. Rows and columns are never tinted: a tint would change the colors that encode values.
 */
import type { Session } from "../../app/session.ts";
import { type Axis, indexAt } from "../../canvas/axis.ts";
import { HIDDEN, make, put } from "../../canvas/dom.ts";
import type { PointerPoint } from "../../canvas/gestures.ts";
import { type Axes, boxOf, type MatrixFrame, type PixelBox } from "./frame.ts";

const NAMES = ["row-tick", "column-tick", "selection", "pointed", "cursor", "pinned", "band"] as const;
type Name = (typeof NAMES)[number];

export class Marks {
  readonly all: readonly HTMLElement[];
  /** The rectangle being dragged, relative to the area of the cells. */
  band: readonly [from: PointerPoint, to: PointerPoint] | undefined;
  readonly #of: Readonly<Record<Name, HTMLElement>>;

  constructor() {
    const elements = NAMES.map(
      (name) => [name, make("div", `mark ${name}`, { ...HIDDEN, hidden: "" })] as const,
    );
    this.#of = Object.fromEntries(elements) as unknown as Record<Name, HTMLElement>;
    this.all = elements.map(([, mark]) => mark);
  }

  update(frame: MatrixFrame, axes: Axes, { state, hover, pointed }: Session): void {
    const inside = ({ x, y, width, height }: PixelBox): PixelBox => ({
      x: x - frame.left,
      y: y - frame.top,
      width,
      height,
    });
    const cell = (query: number | undefined, key: number | undefined): PixelBox | undefined => {
      if (query === undefined || key === undefined) return undefined;
      const box = boxOf(frame, axes, query, key);
      if (box === undefined) return undefined;
      const { x, y, width, height } = inside(box);
      const isInView =
        x + width > -1 && y + height > -1 && x < frame.usedWidth + 1 && y < frame.usedHeight + 1;
      return isInView ? { x, y, width: Math.max(1, width), height: Math.max(1, height) } : undefined;
    };
    this.#put("cursor", cell(state.query, state.key));
    this.#put("pointed", cell(hover?.query, hover?.key));
    this.#put("pinned", cell(state.pinned?.[0], state.pinned?.[1]));
    const ticked = cell(pointed.query, pointed.key);
    this.#put("row-tick", ticked && { x: -6, y: ticked.y, width: 5, height: Math.max(2, ticked.height) });
    this.#put("column-tick", ticked && { x: ticked.x, y: -6, width: Math.max(2, ticked.width), height: 5 });
    this.#put("selection", this.#selected(frame, axes, state.rows, state.columns));
    const [from, to] = this.band ?? [];
    this.#put(
      "band",
      from &&
        to && {
          x: Math.min(from[0], to[0]),
          y: Math.min(from[1], to[1]),
          width: Math.abs(from[0] - to[0]),
          height: Math.abs(from[1] - to[1]),
        },
    );
  }

  /** The box around the selection; without selected rows (or columns) it spans all of them. */
  #selected(
    frame: MatrixFrame,
    axes: Axes,
    rows: readonly number[],
    columns: readonly number[],
  ): PixelBox | undefined {
    if (rows.length === 0 && columns.length === 0) return undefined;
    const ends = (values: readonly number[], axis: Axis) =>
      values.length > 0
        ? [values[0], values[values.length - 1]]
        : [indexAt(axis, 0) ?? 0, indexAt(axis, axis.count - 1) ?? 0];
    const [q0, q1] = ends(rows, axes.rows);
    const [k0, k1] = ends(columns, axes.columns);
    const [a, b] = [boxOf(frame, axes, q0, k0), boxOf(frame, axes, q1, k1)];
    return (
      a &&
      b && {
        x: a.x - frame.left,
        y: a.y - frame.top,
        width: b.x + b.width - a.x,
        height: b.y + b.height - a.y,
      }
    );
  }

  #put(name: Name, box: PixelBox | undefined): void {
    this.#of[name].hidden = box === undefined;
    if (box) put(this.#of[name], { left: box.x, top: box.y, width: box.width, height: box.height });
  }
}
