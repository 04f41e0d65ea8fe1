/** Masks and score mods of another copy of heed in the same process: their classes differ, so they are refused by name. */

/** Ends an error about such a mask or score mod. */
export const FOREIGN =
  "comes from another copy of heed (two versions installed, or one bundled twice); import it from the copy that is called";

/** A mask or score mod whose class is that of another copy of this module; call it only for values that are not of this copy. */
export function isForeign(x: unknown): boolean {
  if (typeof x !== "object" || x === null) return false;
  return ("op" in x && "args" in x) || ("expr" in x && isForeign(x.expr));
}
