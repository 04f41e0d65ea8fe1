/** Concat and W^O: what each head adds to a word's vector, and how much of the sum that is. */

/** Outputs of heads, side by side, and what W^O makes of them. Muted heads are zeros. */
export interface Mix {
  /** The outputs one after the other, [heads · 32]. */
  readonly concat: readonly number[];
  /** concat · W^O, without its bias: the sum of what the heads add. */
  readonly sum: readonly number[];
  /** Length of what each head adds, and its part of the sum, measured in the direction of the sum: the parts add up to 1. */
  readonly lengths: readonly number[];
  readonly parts: readonly number[];
  /** The two heads with the largest parts, and the cosine of what they add. */
  readonly largest: readonly [first: number, second: number];
  readonly cosine: number;
  /** What the heads add, one after the other from (0, 0) to the sum, in the plane of the sum and of the first of the two, [heads + 1]. */
  readonly path: readonly (readonly [x: number, y: number])[];
  /** Length of the word's vector before the layer. */
  readonly state: number;
}

const dot = (a: Float64Array, b: Float64Array) => a.reduce((sum, x, i) => sum + x * b[i], 0);
const ratio = (a: number, b: number) => (b === 0 ? 0 : a / b);

/** The mix of outputs [heads · 32] and what becomes of each through W^O, [heads · width]. */
export function mixOf(
  outputs: Float64Array,
  additions: ArrayLike<number>,
  on: readonly number[],
  state: number,
): Mix {
  const heads = on.length;
  const [size, width] = [outputs.length / heads, additions.length / heads];
  const added = on.map((one, h) =>
    Float64Array.from({ length: width }, (_, i) => one * additions[h * width + i]),
  );
  const sum = Float64Array.from({ length: width }, (_, i) =>
    added.reduce((all, vector) => all + vector[i], 0),
  );
  const square = dot(sum, sum);
  const parts = added.map((vector) => ratio(dot(vector, sum), square));
  const [first, second] = parts.map((_, h) => h).sort((a, b) => parts[b] - parts[a]);
  // The plane: along the sum, and along what the first head adds across it.
  const across = added[first].map((x, i) => x - parts[first] * sum[i]);
  const length = Math.sqrt(dot(across, across));
  const path: (readonly [number, number])[] = [[0, 0]];
  for (const [h, vector] of added.entries()) {
    const [x, y] = path[h];
    path.push([x + parts[h] * Math.sqrt(square), y + ratio(dot(vector, across), length)]);
  }
  const lengths = added.map((vector) => Math.sqrt(dot(vector, vector)));
  return {
    concat: Array.from(outputs, (x, i) => on[Math.floor(i / size)] * x),
    sum: [...sum],
    lengths,
    parts,
    largest: [first, second],
    cosine: ratio(dot(added[first], added[second]), lengths[first] * lengths[second]),
    path,
    state,
  };
}
