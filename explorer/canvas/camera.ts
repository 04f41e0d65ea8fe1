/**
 * The camera of a picture of cells: zooming about a point, panning, and clamping to the picture. Lengths are CSS pixels; a
 * camera's x and y are the cell coordinates of the upper left corner of the viewport.
 *
 * Cells are square, except in pictures that are many times wider than high (a cached decode of one query) or the reverse: there
 * cells are stretched along the short dimension, up to the largest size of a cell. A scene may name a shape instead.
 */
import type { Camera } from "../state/state.ts";

/** A picture of `columns` × `rows` cells in a viewport of `width` × `height` pixels. */
export interface Scene {
  readonly width: number;
  readonly height: number;
  readonly columns: number;
  readonly rows: number;
  /** The maximum size of a cell in pixels when the entire picture fits. */
  readonly largest: number;
  /** Width and height of a cell as shares of the scale, up to 1; without it, cells are square. */
  readonly shape?: readonly [width: number, height: number];
  /** The minimum size of a cell: a picture that does not fit starts at its upper left corner. */
  readonly smallest?: number;
  /** The maximum size of a cell when zoomed in; 64 by default. */
  readonly closest?: number;
}
/** The ratio of rows to columns (or the reverse) above which cells are stretched. */
const LONG = 6;

/** Width and height of a cell at a camera's scale. */
export function cellSize(
  { columns, rows, largest, shape }: Scene,
  scale: number,
): readonly [width: number, height: number] {
  if (shape !== undefined) return [scale * shape[0], scale * shape[1]];
  const stretched = (ratio: number) => Math.max(scale, Math.min(largest, (scale * ratio) / LONG));
  return [stretched(rows / Math.max(1, columns)), stretched(columns / Math.max(1, rows))];
}

/** The camera that shows the entire picture. */
export function fitted(scene: Scene): Camera {
  const { width, height, columns, rows, largest, shape = [1, 1] } = scene;
  let scale = Math.min(
    largest,
    width / (Math.max(1, columns) * shape[0]),
    height / (Math.max(1, rows) * shape[1]),
  );
  for (let round = 0; round < 8; round++) {
    const [w, h] = cellSize(scene, scale);
    const over = Math.max((w * columns) / width, (h * rows) / height);
    if (over > 1.0001) scale /= over;
  }
  scale = Math.max(scale, scene.smallest ?? 0);
  // Integer sizes keep the gaps between cells even.
  return { scale: scale >= 6 ? Math.floor(scale) : Math.max(1e-6, scale), x: 0, y: 0 };
}

const closest = (scene: Scene, fit: Camera) => Math.max(scene.closest ?? 64, fit.scale);

/** The effective camera: the given one clamped to the picture, or the one that shows the entire picture. */
export function settle(scene: Scene, camera: Camera | null): Camera {
  const fit = fitted(scene);
  if (camera === null) return fit;
  const scale = Math.min(closest(scene, fit), Math.max(fit.scale, camera.scale));
  const [w, h] = cellSize(scene, scale);
  return {
    scale,
    x: Math.min(Math.max(0, scene.columns - scene.width / w), Math.max(0, camera.x)),
    y: Math.min(Math.max(0, scene.rows - scene.height / h), Math.max(0, camera.y)),
  };
}

/** Zooms by a factor about the pixel (px, py). Returns null if the entire picture fits again. */
export function zoom(
  scene: Scene,
  camera: Camera | null,
  factor: number,
  px: number,
  py: number,
): Camera | null {
  const from = settle(scene, camera);
  const fit = fitted(scene);
  const scale = Math.min(closest(scene, fit), from.scale * factor);
  if (scale <= fit.scale * 1.0001 && scene.smallest === undefined) return null;
  const [w0, h0] = cellSize(scene, from.scale);
  const [w1, h1] = cellSize(scene, scale);
  return settle(scene, { scale, x: from.x + px / w0 - px / w1, y: from.y + py / h0 - py / h1 });
}

/** Moves the camera by pixels. */
export function pan(scene: Scene, camera: Camera | null, dx: number, dy: number): Camera | null {
  if (camera === null && scene.smallest === undefined) return null;
  const from = settle(scene, camera);
  const [w, h] = cellSize(scene, from.scale);
  return settle(scene, { scale: from.scale, x: from.x - dx / w, y: from.y - dy / h });
}

/** Moves the camera by the minimum that shows a cell and a margin of cells around it. */
export function reveal(
  scene: Scene,
  camera: Camera | null,
  column: number,
  row: number,
  margin = 2,
): Camera | null {
  if (camera === null && scene.smallest === undefined) return null;
  const from = settle(scene, camera);
  const [w, h] = cellSize(scene, from.scale);
  const into = (at: number, place: number, shown: number) => {
    const edge = Math.min(margin, Math.max(0, (shown - 1) / 2));
    return Math.min(place - edge, Math.max(place + 1 + edge - shown, at));
  };
  const moved = {
    ...from,
    x: into(from.x, column, scene.width / w),
    y: into(from.y, row, scene.height / h),
  };
  return moved.x === from.x && moved.y === from.y ? camera : settle(scene, moved);
}
