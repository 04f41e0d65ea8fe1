/**
 * Where a picture of cells is looked at from: zooming about a point, panning, and staying inside. Lengths are CSS
 * pixels; a camera's x and y are the place (in cells) at the upper left corner of the area.
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
}

/** Cells grow up to this many pixels. */
export const CLOSEST = 64;

/** The camera that shows everything. */
export function fitted({ width, height, columns, rows, largest }: Scene): Camera {
  const scale = Math.min(largest, width / Math.max(1, columns), height / Math.max(1, rows));
  // Whole pixels, where a cell has several, keep gaps and labels even.
  return { scale: scale >= 4 ? Math.floor(scale) : Math.max(1e-6, scale), x: 0, y: 0 };
}

/** The camera in use: the given one kept inside the picture, or the one that shows everything. */
export function settle(scene: Scene, camera: Camera | null): Camera {
  const whole = fitted(scene);
  if (camera === null) return whole;
  const scale = Math.min(Math.max(CLOSEST, whole.scale), Math.max(whole.scale, camera.scale));
  const most = (cells: number, pixels: number) => Math.max(0, cells - pixels / scale);
  return {
    scale,
    x: Math.min(most(scene.columns, scene.width), Math.max(0, camera.x)),
    y: Math.min(most(scene.rows, scene.height), Math.max(0, camera.y)),
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
  const whole = fitted(scene).scale;
  const scale = Math.min(Math.max(CLOSEST, whole), from.scale * factor);
  if (scale <= whole * 1.0001) return null;
  return settle(scene, {
    scale,
    x: from.x + px / from.scale - px / scale,
    y: from.y + py / from.scale - py / scale,
  });
}

/** Moved by pixels. */
export function pan(scene: Scene, camera: Camera | null, dx: number, dy: number): Camera | null {
  if (camera === null) return null;
  const from = settle(scene, camera);
  return settle(scene, { scale: from.scale, x: from.x - dx / from.scale, y: from.y - dy / from.scale });
}

/** Moved as little as shows the cell with a margin of cells about it. */
export function reveal(
  scene: Scene,
  camera: Camera | null,
  column: number,
  row: number,
  margin = 2,
): Camera | null {
  if (camera === null) return null;
  const from = settle(scene, camera);
  const into = (at: number, place: number, pixels: number) => {
    const seen = pixels / from.scale;
    const edge = Math.min(margin, Math.max(0, (seen - 1) / 2));
    return Math.min(place - edge, Math.max(place + 1 + edge - seen, at));
  };
  const moved = { ...from, x: into(from.x, column, scene.width), y: into(from.y, row, scene.height) };
  return moved.x === from.x && moved.y === from.y ? camera : settle(scene, moved);
}
