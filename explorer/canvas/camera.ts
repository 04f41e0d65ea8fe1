/**
 * Where a picture of cells is looked at from: zooming about a point, panning, and staying inside. Lengths are CSS
 * pixels; a camera's x and y are the place (in cells) at the upper left corner of the area.
 *
 * Cells are square, but for pictures that are many times wider than high (a cached decode of one query) or the other way
 * round: there the short side is stretched, up to the largest size of a cell.
 */
import type { Camera } from "../state/state.ts";

/** A picture of `columns` × `rows` cells, seen through an area of `width` × `height` pixels. */
export interface Scene {
  readonly width: number;
  readonly height: number;
  readonly columns: number;
  readonly rows: number;
  /** The most pixels a cell takes where the whole picture fits. */
  readonly largest: number;
  /** The least it takes: a picture that needs more room than there is begins at its upper left corner. */
  readonly smallest?: number;
  /** The most it takes close up; 64 where nothing is said. */
  readonly closest?: number;
}
/** How many times longer one side is before the other is stretched. */
const LONG = 6;

/** Width and height of a cell at a camera's scale. */
export function cellSize(
  { columns, rows, largest }: Scene,
  scale: number,
): readonly [width: number, height: number] {
  const stretched = (ratio: number) => Math.max(scale, Math.min(largest, (scale * ratio) / LONG));
  return [stretched(rows / Math.max(1, columns)), stretched(columns / Math.max(1, rows))];
}

/** The camera that shows everything. */
export function fitted(scene: Scene): Camera {
  const { width, height, columns, rows, largest } = scene;
  let scale = Math.min(largest, width / Math.max(1, columns), height / Math.max(1, rows));
  for (let round = 0; round < 8; round++) {
    const [w, h] = cellSize(scene, scale);
    const over = Math.max((w * columns) / width, (h * rows) / height);
    if (over > 1.0001) scale /= over;
  }
  scale = Math.max(scale, scene.smallest ?? 0);
  // Whole pixels, where cells have gaps between them, keep those even.
  return { scale: scale >= 6 ? Math.floor(scale) : Math.max(1e-6, scale), x: 0, y: 0 };
}

const closest = (scene: Scene, whole: Camera) => Math.max(scene.closest ?? 64, whole.scale);

/** The camera in use: the given one kept inside the picture, or the one that shows everything. */
export function settle(scene: Scene, camera: Camera | null): Camera {
  const whole = fitted(scene);
  if (camera === null) return whole;
  const scale = Math.min(closest(scene, whole), Math.max(whole.scale, camera.scale));
  const [w, h] = cellSize(scene, scale);
  return {
    scale,
    x: Math.min(Math.max(0, scene.columns - scene.width / w), Math.max(0, camera.x)),
    y: Math.min(Math.max(0, scene.rows - scene.height / h), Math.max(0, camera.y)),
  };
}

/** Zoomed by a factor so that what is at pixel (px, py) stays there. null once everything fits again. */
export function zoom(
  scene: Scene,
  camera: Camera | null,
  factor: number,
  px: number,
  py: number,
): Camera | null {
  const from = settle(scene, camera);
  const whole = fitted(scene);
  const scale = Math.min(closest(scene, whole), from.scale * factor);
  if (scale <= whole.scale * 1.0001 && scene.smallest === undefined) return null;
  const [w0, h0] = cellSize(scene, from.scale);
  const [w1, h1] = cellSize(scene, scale);
  return settle(scene, { scale, x: from.x + px / w0 - px / w1, y: from.y + py / h0 - py / h1 });
}

/** Moved by pixels. */
export function pan(scene: Scene, camera: Camera | null, dx: number, dy: number): Camera | null {
  if (camera === null && scene.smallest === undefined) return null;
  const from = settle(scene, camera);
  const [w, h] = cellSize(scene, from.scale);
  return settle(scene, { scale: from.scale, x: from.x - dx / w, y: from.y - dy / h });
}

/** Moved as little as shows the cell with a margin of cells about it. */
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
  const into = (at: number, place: number, seen: number) => {
    const edge = Math.min(margin, Math.max(0, (seen - 1) / 2));
    return Math.min(place - edge, Math.max(place + 1 + edge - seen, at));
  };
  const moved = {
    ...from,
    x: into(from.x, column, scene.width / w),
    y: into(from.y, row, scene.height / h),
  };
  return moved.x === from.x && moved.y === from.y ? camera : settle(scene, moved);
}
