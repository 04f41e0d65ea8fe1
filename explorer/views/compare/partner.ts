/** Which text is compared where none has been chosen: the one with the most words in common with the text that is shown. */

/** The words of a name, lower case, without the ending of a file. */
function wordsOf(name: string): readonly string[] {
  const text = name.replace(/\.(?:heed|safetensors|npz|npy|json)$/i, "").toLowerCase();
  return text.match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** The share of words that two names have in common, each counted as often as both have it: 0 to 1 (Dice's coefficient). */
export function likeness(one: string, other: string): number {
  const [a, b] = [wordsOf(one), wordsOf(other)];
  if (a.length + b.length === 0) return 0;
  const left = [...b];
  let common = 0;
  for (const word of a) {
    const at = left.indexOf(word);
    if (at < 0) continue;
    left.splice(at, 1);
    common++;
  }
  return (2 * common) / (a.length + b.length);
}

/** Two sentences with fewer words in common have no tokens to compare. */
const LEAST = 0.25;
const isSentence = (name: string) => /\S\s+\S/.test(name);

/**
 * The index of the name most like the one at `index`, of equals the next one in order. The index itself where there is no
 * other name, or where all of them are sentences of other words.
 */
export function mostLike(names: readonly string[], index: number): number {
  const name = names[index] ?? "";
  let best = index;
  let most = -1;
  for (let by = 1; by < names.length; by++) {
    const at = (index + by) % names.length;
    const found = likeness(name, names[at]);
    if (found < LEAST && isSentence(name) && isSentence(names[at])) continue;
    if (found > most) [best, most] = [at, found];
  }
  return best;
}
