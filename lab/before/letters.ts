/** What the network can read: six letters from a to h. */

/** The word that it reads first, and instead of one that it cannot read. */
export const WORD = "chageb";

export const isWord = (word: string): boolean => /^[a-h]{6}$/.test(word);

/** The alphabet. */
export const LETTERS = "abcdefgh";
