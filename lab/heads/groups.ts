/** Key heads of a state. */

/** How many heads have keys of their own: the small encoder, which reads a reader's own sentence, has four heads in a layer, not twelve. */
export const keyHeadsOf = (groups: number, ownText: string): number =>
  ownText === "" ? groups : ({ 12: 4, 4: 2 }[groups] ?? 1);
