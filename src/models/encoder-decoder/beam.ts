/**
 * Beam search: the `beams` most likely texts so far are continued together, and the best finished one is returned. Scores, length
 * penalty and the end of the search are those of transformers (`_beam_search` of its generation/utils.py): of 2·beams
 * continuations, those that end in the first `beams` places are finished, and the best others go on.
 */
import type { ReadingSlices } from "../../core/slices.ts";

/** A text while it is searched. */
interface Beam<S> {
  readonly ids: readonly number[];
  /** Sum of the log-probabilities. */
  readonly score: number;
  readonly state: S;
}

/** How to search. */
export interface BeamSearch<S> {
  readonly beams: number;
  /** A score is divided by length^penalty: above 0 favors longer texts. */
  readonly lengthPenalty: number;
  /** True ends the search as soon as `beams` texts are finished. */
  readonly earlyStopping: boolean;
  readonly maxTokens: number;
  readonly ends: ReadonlySet<number>;
  readonly start: S;
  /** Log-probabilities of the token after a text, [V]; `state` reads the ids that are new. */
  step(ids: readonly number[], state: S): ReadingSlices<Float64Array>;
  /** A state that continues as another text. */
  copy(state: S): S;
  /** Releases a state whose text does not continue. */
  release(state: S): void;
}

/** The ids of the best text, without the id that ends it. Yields what `step` yields, and the share of `maxTokens` after each token. */
export function* beamSearch<S>(search: BeamSearch<S>): ReadingSlices<number[]> {
  const { beams: B, lengthPenalty, earlyStopping, maxTokens, ends, step, copy, release } = search;
  let running: Beam<S>[] = [{ ids: [], score: 0, state: search.start }];
  let finished: { readonly ids: readonly number[]; readonly score: number }[] = [];
  try {
    for (let length = 1; length <= maxTokens; length++) {
      const candidates: { beam: number; id: number; score: number }[] = [];
      for (const [beam, { ids, score, state }] of running.entries())
        for (const [id, logShare] of best(yield* step(ids, state), (ends.size + 1) * B))
          candidates.push({ beam, id, score: score + logShare });
      yield length / maxTokens;
      candidates.sort((a, b) => b.score - a.score);
      const top = candidates.slice(0, Math.max(2, ends.size + 1) * B);
      const isEnd = ({ id }: { id: number }) => ends.has(id) || length === maxTokens;
      if (!(earlyStopping && finished.length === B)) {
        const ended = top
          .slice(0, B)
          .filter((one) => isEnd(one))
          .map(({ beam, id, score }) => ({
            ids: [...running[beam].ids, id],
            score: score / length ** lengthPenalty,
          }));
        finished = [...finished, ...ended].sort((a, b) => b.score - a.score).slice(0, B);
      }
      const next = top.filter((one) => !isEnd(one)).slice(0, B);
      if (next.length === 0) break;
      const used = new Set<number>();
      const before = running;
      running = next.map(({ beam, id, score }) => {
        const { ids, state } = before[beam];
        const isFirst = !used.has(beam);
        used.add(beam);
        return { ids: [...ids, id], score, state: isFirst ? state : copy(state) };
      });
      before.forEach(({ state }, beam) => {
        if (!used.has(beam)) release(state);
      });
      if (finished.length < B) continue;
      const possible = next[0].score / length ** lengthPenalty;
      if (earlyStopping || possible <= finished[finished.length - 1].score) break;
    }
  } finally {
    for (const { state } of running) release(state);
  }
  const { ids } = finished[0];
  return ends.has(ids[ids.length - 1]) ? ids.slice(0, -1) : [...ids];
}

/** The `count` largest numbers with their indices, largest first; −∞ is left out. */
function best(row: Float64Array, count: number): [index: number, value: number][] {
  const top: [number, number][] = [];
  for (let i = 0; i < row.length; i++) {
    const value = row[i];
    if (value === Number.NEGATIVE_INFINITY || (top.length === count && value <= top[count - 1][1])) continue;
    let at = top.length;
    while (at > 0 && top[at - 1][1] < value) at--;
    top.splice(at, 0, [i, value]);
    if (top.length > count) top.pop();
  }
  return top;
}
