/** "Did you mean": the nearest known name by edit distance (Damerau 1964, with transpositions). */

/** Edit distance of two words: insertions, deletions, substitutions, transpositions. */
export function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        row[j] = Math.min(row[j], before[j - 2] + 1);
    }
    before = last;
    last = row;
  }
  return last[b.length];
}

/** The known name that `word` most likely means, or undefined if none is near. */
export function nearest(word: string, names: readonly string[]): string | undefined {
  const typed = word.toLowerCase();
  const near = names
    .map((name) => {
      const isPart = (typed.length >= 2 && name.startsWith(typed)) || typed.endsWith(`-${name}`);
      return { name, distance: isPart ? 0.5 : editDistance(typed, name) };
    })
    // A third of the letters may differ, but not all of a short word.
    .filter(
      ({ name, distance }) => distance <= Math.max(1, Math.floor(Math.max(name.length, typed.length) / 3)),
    )
    .filter(({ name, distance }) => distance < Math.max(2, name.length));
  near.sort((a, b) => a.distance - b.distance);
  return near[0]?.name;
}

/** `; did you mean --causal?`, or nothing. */
export function didYouMean(word: string, names: readonly string[], prefix = ""): string {
  const name = nearest(word, names);
  return name === undefined ? "" : `; did you mean ${prefix}${name}?`;
}
