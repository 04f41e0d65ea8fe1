/** The words and steps of the layer in the picture. */

/** Four words. */
export const WORDS = ["time", "flies", "like", "arrows"] as const;
/** Names of the steps: where there is space, where there is little, and the letter in formulas. */
export const LAYER_STEPS = /* text */ [
  ["the word’s own vector", "word", ""],
  ["+ its position", "+ position", "x"],
  ["attention: two heads, concatenated", "two heads", ""],
  ["mixed by Wᴼ", "· Wᴼ", "a"],
  ["residual sum", "x + a", "x + a"],
  ["norm", "norm", "y"],
  ["MLP, each word alone", "MLP", "m"],
  ["residual sum", "y + m", "y + m"],
  ["norm", "norm", "z"],
] as const;
