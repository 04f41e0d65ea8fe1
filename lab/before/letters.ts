/** What the network can read, and what is compared in the race: constants and counts that page and worker share. */

/** The word that it reads first, and instead of one that it cannot read. */
export const WORD = "chageb";

export const isWord = (word: string): boolean => /^[a-h]{6}$/.test(word);

/** The alphabet. */
export const LETTERS = "abcdefgh";

/** Words of the texts. */
export const PACE_WORDS = [16, 64, 256, 1024] as const;
/** Numbers of a word and of a state. */
export const PACE_D = 64;

/** Milliseconds for each length. */
export interface Pace {
  readonly recurrent: readonly number[];
  readonly attention: readonly number[];
}

/** Words of the longest text. */
export const LONGEST = PACE_WORDS[PACE_WORDS.length - 1];

/** Multiplications and additions for n words: six products with a d × d matrix a word; four, and two products with the weights. */
export const paceOperations = (n: number) => ({
  recurrent: 12 * n * PACE_D ** 2,
  attention: 8 * n * PACE_D ** 2 + 4 * n ** 2 * PACE_D,
});
