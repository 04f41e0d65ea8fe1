/** The letters and dashes of pinned heads, which are not distinguished by color alone. */
export const PIN_LETTERS = "ABCDEF";
export const PIN_DASHES: readonly (readonly number[])[] = [[], [6, 2], [2, 2], [8, 2, 2, 2], [4, 4], [1, 3]];
