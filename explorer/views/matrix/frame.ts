/**
 * The layout of a matrix in CSS pixels: labels at the left and the top, the cells, and thin margins for the entropy of each row
 * (right) and the sum of each column (bottom).
 */
import type { TokenLabels as Names } from "../../app/session.ts";
import { type Axis, placeOf } from "../../canvas/axis.ts";
import { cellSize, type Scene, settle } from "../../canvas/camera.ts";
import { labelWidth } from "../../canvas/labels.ts";
import type { State } from "../../state/state.ts";

export interface MatrixFrame {
  readonly width: number;
  readonly height: number;
  /** The cells' area. */
  readonly left: number;
  readonly top: number;
  readonly areaWidth: number;
  readonly areaHeight: number;
  /** The part of the area that has cells. */
  readonly usedWidth: number;
  readonly usedHeight: number;
  /** Widths of the margins; 0: none. */
  readonly right: number;
  readonly bottom: number;
  readonly scene: Scene;
  /** The camera in use. */
  readonly x: number;
  readonly y: number;
  readonly cellWidth: number;
  readonly cellHeight: number;
}

/** The length of a tick next to the cells, in pixels. */
export const TICK = 6;

/** The maximum size of a cell when the whole picture fits. */
const LARGEST = 96;

/** The maximum ratio of the height of a cell to its width, in narrow pictures that have space below. */
const TALLEST = 1.3;

/** The shape of the cells of a narrow picture: square, or higher where the picture is. */
function stretched(width: number, height: number): readonly [number, number] {
  const ratio = Math.max(1, Math.min(TALLEST, height / width));
  return [1 / ratio, 1];
}

export function frameOf(
  width: number,
  height: number,
  rows: Axis,
  columns: Axis,
  /** The labels whose widths set the space at the left and the top; pictures side by side have the same space. */
  names: readonly Pick<Names, "query" | "key">[],
  { camera }: State,
): MatrixFrame {
  const small = width < 520;
  const widest = (of: "query" | "key", limit: number) =>
    Math.max(...names.map((one) => labelWidth(one[of], limit)));
  const queryWidth = widest("query", Math.min(128, width * 0.3));
  const lean = widest("key", small ? Math.max(72, width * 0.25) : 120);
  const left = queryWidth + 12 + TICK;
  // The tick of the hovered column is between its label and the cells.
  const top = Math.ceil(lean * 0.866) + 14 + TICK;
  const right = small ? 28 : 44;
  const bottom = small ? 24 : 36;
  // The slanted labels of the last columns extend over the right margin.
  const areaWidth = Math.max(16, width - left - Math.max(right, lean * 0.5));
  const areaHeight = Math.max(16, height - top - bottom);
  const scene: Scene = {
    width: areaWidth,
    height: areaHeight,
    columns: columns.count,
    rows: rows.count,
    largest: LARGEST,
    ...(small && { shape: stretched(areaWidth / columns.count, areaHeight / rows.count) }),
  };
  const { scale, x, y } = settle(scene, camera);
  const [cellWidth, cellHeight] = cellSize(scene, scale);
  return {
    width,
    height,
    left,
    top,
    areaWidth,
    areaHeight,
    usedWidth: Math.min(areaWidth, columns.count * cellWidth),
    usedHeight: Math.min(areaHeight, rows.count * cellHeight),
    right: right - 8,
    bottom: bottom - 8,
    scene,
    x,
    y,
    cellWidth,
    cellHeight,
  };
}

/** The row and column at a pixel of the whole picture, with fractions. */
export function placeAt({ left, top, x, y, cellWidth, cellHeight }: MatrixFrame, px: number, py: number) {
  return { column: x + (px - left) / cellWidth, row: y + (py - top) / cellHeight };
}

/** The tokens along both edges. */
export interface Axes {
  readonly rows: Axis;
  readonly columns: Axis;
}

/** A box in CSS pixels. */
export interface PixelBox {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** The box of a cell in the whole picture, its edges on device pixels as on the canvas; undefined if it is not shown. */
export function boxOf(
  frame: MatrixFrame,
  { rows, columns }: Axes,
  query: number,
  key: number,
): PixelBox | undefined {
  const [row, column] = [placeOf(rows, query), placeOf(columns, key)];
  if (row === undefined || column === undefined) return undefined;
  const ratio = devicePixelRatio;
  const edge = (from: number, place: number, at: number, size: number) =>
    (Math.round(from * ratio) + Math.round((place - at) * size * ratio)) / ratio;
  const x = edge(frame.left, column, frame.x, frame.cellWidth);
  const y = edge(frame.top, row, frame.y, frame.cellHeight);
  return {
    x,
    y,
    width: edge(frame.left, column + 1, frame.x, frame.cellWidth) - x,
    height: edge(frame.top, row + 1, frame.y, frame.cellHeight) - y,
  };
}
