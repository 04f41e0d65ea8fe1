/** Pulling an edge, by pointer or by keys, changes its size, and every box that shares it. */
import type { Gesture, PicturePoint } from "../frame/page.ts";
import type { Shapes } from "./compute.ts";
import { callAt, layerAt, RANGE, type ShapesView, type Size } from "./sizes.ts";

/** A size from where its edge was pulled to. */
function pulled(
  view: ShapesView,
  size: Size,
  edgeName: string,
  point: PicturePoint,
  gesture: Gesture,
): Partial<Shapes> {
  const { state, wide } = view;
  let value: number;
  if (edgeName === "count") {
    if (gesture.first) gesture.memo = { x: point.x, value: state[size] };
    const { x, value: start } = gesture.memo as { x: number; value: number };
    value = start + (point.x - x) / 8;
  } else if (state.view === "layer") {
    const { u, row, xRight, left } = layerAt(wide);
    value =
      edgeName === "cut"
        ? state.d / Math.max(1, (point.x - left) / u)
        : size === "n"
          ? (point.y - row) / u
          : (xRight - point.x) / u;
  } else {
    const { u, qRight, sLeft, oLeft, row, above } = callAt(wide);
    const [across, up] = [(point.x - oLeft) / u, (above - point.y) / u];
    value = {
      rows: (point.y - row) / u,
      q: (qRight - point.x) / u,
      k: up,
      s: (point.x - sLeft) / u,
      v: size === "dv" ? across : up,
      t: size === "dv" ? up : across,
    }[edgeName as "rows" | "q" | "k" | "s" | "v" | "t"];
  }
  return changed(view.state, size, value);
}

/** A size changed, and with it the one that is the same edge. */
export function changed(state: Shapes, size: Size, value: number): Partial<Shapes> {
  return state.self && (size === "n" || size === "m") ? { n: value, m: value } : { [size]: value };
}

/** The drag of a size. */
const pull = (size: Size) => ({
  move: (view: ShapesView, name: string, point: PicturePoint, gesture: Gesture) =>
    pulled(view, size, name, point, gesture),
  key: ({ state }: ShapesView, _: string, dx: number, dy: number) =>
    changed(state, size, state[size] + dx + dy),
});

/** The drags of all sizes by name. */
export const drags = Object.fromEntries((Object.keys(RANGE) as Size[]).map((size) => [size, pull(size)]));
