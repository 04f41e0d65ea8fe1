/** Chooses the text to compare with if the user has not chosen one: the one with the most words in common. */

/** The words of a name in lower case, without a file extension. */
function wordsOf(name: string): readonly string[] {
  const text = name.replace(/\.(?:heed|safetensors|npz|npy|json)$/i, "").toLowerCase();
  return text.match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** The similarity of two names, 0 to 1: Dice's coefficient of their multisets of words. */
export function similarity(one: string, other: string): number {
  const [a, b] = [wordsOf(one), wordsOf(other)];
  if (a.length + b.length === 0) return 0;
  const left = [...b];
  let common = 0;
  for (const word of a) {
    const at = left.indexOf(word);
    if (at >= 0) common += left.splice(at, 1).length;
  }
  return (2 * common) / (a.length + b.length);
}

/** Sentences with a lower similarity have too few tokens in common. */
const MIN_SIMILARITY = 0.25;
const isSentence = (name: string) => /\S\s+\S/.test(name);

/**
 * The index of the name that is most similar to the one at `index`; of equals, the next one in order; undefined is no candidate. Returns
 * `index` if there is no other name, or if all names are sentences with too few words in common.
 */
export function mostSimilar(names: readonly (string | undefined)[], index: number): number {
  const name = names[index] ?? "";
  let best = index;
  let highest = -1;
  for (let by = 1; by < names.length; by++) {
    const at = (index + by) % names.length;
    const other = names[at];
    if (other === undefined) continue;
    const score = similarity(name, other);
    if (score < MIN_SIMILARITY && isSentence(name) && isSentence(other)) continue;
    if (score > highest) [best, highest] = [at, score];
  }
  return best;
}
