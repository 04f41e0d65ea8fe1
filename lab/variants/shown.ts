/** What a state shows. */

/** Whether picture or listing show Flash's tiles. The trained heads cannot be made in a few lines, so their listing merges tiles. */
export const showsTiles = ({ show, data }: { readonly show: string; readonly data: string }): boolean =>
  show === "tiles" || data === "previous" || data === "average";
