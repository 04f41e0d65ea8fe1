/**
 * The tokens along one edge of a picture: runs of consecutive tokens (segments, for example) without the tokens between them.
 * A place is a position along the picture, counted from 0; an index is the number of a token in the text.
 */

/** The tokens from `start` to `end`, exclusive; the first is at place `at`. */
export interface TokenRun {
  readonly start: number;
  readonly end: number;
  readonly at: number;
}

export interface Axis {
  readonly runs: readonly TokenRun[];
  /** The number of places. */
  readonly count: number;
}

/** An axis of all tokens, or of those inside any of the ranges (in order, each once). */
export function axisOf(count: number, ranges?: readonly (readonly [start: number, end: number])[]): Axis {
  if (ranges === undefined) return { runs: count > 0 ? [{ start: 0, end: count, at: 0 }] : [], count };
  const runs: TokenRun[] = [];
  let at = 0;
  let from = 0;
  for (const [first, last] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const start = Math.max(first, from);
    const end = Math.min(last, count);
    if (end <= start) continue;
    const before = runs[runs.length - 1];
    if (before !== undefined && before.end === start) runs[runs.length - 1] = { ...before, end };
    else runs.push({ start, end, at });
    at += end - start;
    from = end;
  }
  return { runs, count: at };
}

/** The token at a place; undefined outside. */
export function indexAt({ runs }: Axis, place: number): number | undefined {
  const run = runs.find(({ start, end, at }) => place >= at && place < at + end - start);
  return run && run.start + Math.floor(place) - run.at;
}

/** The place of a token; undefined if it is not shown. */
export function placeOf({ runs }: Axis, index: number): number | undefined {
  const run = runs.find(({ start, end }) => index >= start && index < end);
  return run && run.at + index - run.start;
}

/** The shown token that is nearest to this one, which need not be shown; 0 if none is shown. */
export function nearest(axis: Axis, index: number): number {
  let best = axis.runs[0]?.start ?? 0;
  for (const { start, end } of axis.runs) {
    const inside = Math.min(end - 1, Math.max(start, index));
    if (Math.abs(inside - index) < Math.abs(best - index)) best = inside;
  }
  return best;
}

/** The token `by` places further, clamped to the ends. */
export function step(axis: Axis, index: number, by: number): number {
  if (axis.count === 0) return 0;
  const place = placeOf(axis, nearest(axis, index)) ?? 0;
  return indexAt(axis, Math.min(axis.count - 1, Math.max(0, place + by))) ?? 0;
}

/** The parts of runs between two places, as token ranges. */
export function between({ runs }: Axis, from: number, to: number): TokenRun[] {
  return runs.flatMap(({ start, end, at }) => {
    const first = Math.max(at, Math.floor(from));
    const last = Math.min(at + end - start, Math.ceil(to));
    return last > first ? [{ start: start + first - at, end: start + last - at, at: first }] : [];
  });
}
