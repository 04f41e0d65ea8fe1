/** Labels that would meet: some are left out (`keepApart`), or all are moved (`dodge`). Positions are along one axis. */

/** A label along an axis. */
export interface PlacedLabel {
  /** Its middle. */
  readonly at: number;
  /** Half of its length. Default 0. */
  readonly half?: number;
  /** True: it is drawn even where it meets another one. */
  readonly always?: boolean;
}

/**
 * The labels that are drawn, in the order of their positions: each that is at least `gap` away from all that come before it in the
 * list. So the list is in order of priority, and labels of equal priority are listed from the start of the axis.
 */
export function keepApart<T extends PlacedLabel>(labels: readonly T[], gap: number): T[] {
  const drawn: T[] = [];
  for (const label of labels) {
    const meets = (other: T) =>
      Math.abs(other.at - label.at) < gap + (other.half ?? 0) + (label.half ?? 0) &&
      // The same place twice is one label.
      (other.at === label.at || label.always !== true);
    if (!drawn.some(meets)) drawn.push(label);
  }
  return drawn.sort((a, b) => a.at - b.at);
}

/**
 * Positions at least `gap` apart, in the same order as the given ones and near them: each is pushed on by the one before it, and
 * back from `end` where the last would be past it.
 */
export function dodge(positions: readonly number[], gap: number, end = Infinity): number[] {
  const order = [...positions.keys()].sort((a, b) => positions[a] - positions[b]);
  const placed = [...positions];
  order.forEach((index, n) => {
    if (n > 0) placed[index] = Math.max(placed[index], placed[order[n - 1]] + gap);
  });
  let limit = end;
  for (const index of order.toReversed()) {
    placed[index] = Math.min(placed[index], limit);
    limit = placed[index] - gap;
  }
  return placed;
}
