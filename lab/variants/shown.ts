/** What a state shows: read by the page and by its computation. */

/** Keys on each side of a row and random features in the race, whatever n: fixed numbers make both ways linear in n. */
export const RACE = { window: 64, features: 256 } as const;

/** Rows and columns of a map. */
export const BANDS = 16;
/** Tiles of a row. */
export const TILES = 8;

/** Whether picture or listing show Flash's tiles. The trained heads cannot be made in a few lines, so their listing merges tiles. */
export const showsTiles = ({ show, data }: { readonly show: string; readonly data: string }): boolean =>
  show === "tiles" || data === "previous" || data === "average";
