/** The largest of a row, largest first; ties in order; what is not a number is none of them. */

/** Places of the `count` largest values. */
export function largest(values: ArrayLike<number>, count: number): number[] {
  const places: number[] = [];
  for (let j = 0; j < values.length; j++) if (values[j] === values[j]) places.push(j);
  return places.sort((a, b) => values[b] - values[a] || a - b).slice(0, count);
}
