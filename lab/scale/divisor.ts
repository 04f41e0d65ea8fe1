/** What products are divided by. */

/** Numbers of a word in the whole layer, for √d_model. */
export const MODEL = 512;

/** The divisor of a name ("1", "√dk", "dk" or "√dmodel") for keys of `dk` numbers. */
export const divisorOf = (name: string, dk: number): number =>
  name === "√dk" ? Math.sqrt(dk) : name === "dk" ? dk : name === "√dmodel" ? Math.sqrt(MODEL) : 1;

/** The largest exponent of d_k. */
export const HIGHEST = 10;
