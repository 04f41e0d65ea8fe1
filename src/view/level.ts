/** From a weight to a place on a color scale, and from there to one of its 256 levels. The colors are in color.ts. */

/** How weights map to the scale: `sqrt` makes small weights visible without changing their order. */
export type Transfer = "sqrt" | "linear";

/** The index of the color, 0 to 255, of a position on a scale. */
export function levelOf(place: number): number {
  return place > 0 ? Math.round(255 * Math.min(1, place)) : 0;
}

/** The position of a weight on the scale, 0 to 1. */
export function placeOf(weight: number, transfer: Transfer = "sqrt"): number {
  const clipped = weight > 0 ? Math.min(1, weight) : 0;
  return transfer === "sqrt" ? Math.sqrt(clipped) : clipped;
}
