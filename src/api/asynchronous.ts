/**
 * Attention that does not block: the same calls with the same bits, computed in slices of some milliseconds. Between two slices the
 * event loop runs, so that a page answers, a server accepts requests, and an `AbortSignal` ends the call.
 */
import { type AttentionOptions, checkAttentionOptions, resolve } from "../backend/problem.ts";
import { checkCount, OptionError } from "../core/errors.ts";
import { checkSlices, runSlices, SLICE_OPTIONS, type SliceOptions, type WorkSlices } from "../core/slices.ts";
import type { FloatDTypeOf, TensorLike } from "../core/tensor.ts";
import type { AttentionResult } from "./attention.ts";
import {
  type AttentionGradients,
  type BackwardOptions,
  namedGradients,
  resolveBackward,
} from "./backward.ts";
import { forwardBackend } from "./dispatch/forward.ts";

/** Options of `scaledDotProductAttentionAsync`. */
export interface AttentionAsyncOptions extends Omit<AttentionOptions, "returnWeights">, SliceOptions {}

/** Options of `attentionBackwardAsync`. */
export interface BackwardAsyncOptions extends Omit<BackwardOptions, "returnWeights">, SliceOptions {}

/**
 * `scaledDotProductAttention` without blocking: the same bits, computed in slices of some milliseconds, between which the event loop
 * runs. Other calls may run meanwhile. The numbers of the inputs must not change before the promise settles. On a device other than
 * the CPU the call is one slice.
 *
 * @param query   [..., Nq, dk], as are key and value in `scaledDotProductAttention`
 * @param options those of `scaledDotProductAttention` but `returnWeights`; `signal` to end the call, `onProgress` for its share done
 * @returns `output` [..., Hq, Nq, dv] and `lse` [..., Hq, Nq]
 * @throws rejects as `scaledDotProductAttention` throws; with the signal's reason when it is aborted, at most one slice later; with an
 *   UnsupportedError inside `tidy`, which would free the result, and inside a recording, which must be synchronous
 *
 * @example
 * const stop = new AbortController();
 * const { output } = await scaledDotProductAttentionAsync(q, k, v, { isCausal: true, signal: stop.signal });
 * output.shape; // → [1, 2, 4, 8]
 */
export async function scaledDotProductAttentionAsync<Q extends TensorLike>(
  query: Q,
  key: TensorLike,
  value: TensorLike,
  options: AttentionAsyncOptions = {},
): Promise<AttentionResult<FloatDTypeOf<Q>>> {
  checkCount("scaledDotProductAttentionAsync", arguments, 4);
  const what = "scaledDotProductAttentionAsync";
  const [sliceOptions, same] = splitOptions(what, options, []);
  const problem = resolve(what, query, key, value, same);
  const backend = forwardBackend({ kind: "forward", problem });
  const slices = () => backend.forwardSlices?.(problem) ?? oneSlice(() => backend.forward(problem));
  return (await runSlices(slices, sliceOptions)) as AttentionResult<FloatDTypeOf<Q>>;
}

/**
 * `attentionBackward` without blocking: the same bits, computed in slices of some milliseconds, as `scaledDotProductAttentionAsync` does.
 *
 * @param dOutput gradient of the output, in its shape
 * @param state   the result of the forward call for the same inputs and options: `output` and `lse`
 * @param options those of `attentionBackward`; `signal` to end the call, `onProgress` for its share done
 * @throws rejects as `attentionBackward` throws, and as `scaledDotProductAttentionAsync` does
 *
 * @example
 * const state = scaledDotProductAttention(q, k, v);
 * const { dKey } = await attentionBackwardAsync(ones([1, 2, 4, 8]), q, k, v, state, { onProgress: (share) => {} });
 * dKey.shape; // → [1, 2, 4, 8]
 */
export async function attentionBackwardAsync<
  Q extends TensorLike,
  K extends TensorLike,
  V extends TensorLike,
>(
  dOutput: TensorLike,
  query: Q,
  key: K,
  value: V,
  state: { readonly output: TensorLike; readonly lse: TensorLike },
  options: BackwardAsyncOptions = {},
): Promise<AttentionGradients<FloatDTypeOf<Q>, FloatDTypeOf<K>, FloatDTypeOf<V>>> {
  checkCount("attentionBackwardAsync", arguments, 6);
  const what = "attentionBackwardAsync";
  const [sliceOptions, same] = splitOptions(what, options, ["wanted", "checkSums"]);
  const { backend, problem, tensors, wanted } = resolveBackward(
    what,
    dOutput,
    query,
    key,
    value,
    state,
    same,
  );
  const slices = () =>
    backend.backwardSlices?.(problem, tensors, wanted) ??
    oneSlice(() => backend.backward(problem, tensors, wanted));
  const result = await runSlices(slices, sliceOptions);
  return namedGradients(result, options.attnMask) as AttentionGradients<
    FloatDTypeOf<Q>,
    FloatDTypeOf<K>,
    FloatDTypeOf<V>
  >;
}

/** The options of the slices, checked, and those of the synchronous call. */
function splitOptions<O extends SliceOptions & AttentionOptions>(
  what: string,
  options: O,
  extra: readonly string[],
): [SliceOptions, Omit<O, keyof SliceOptions>] {
  checkAttentionOptions(what, options, [...extra, ...SLICE_OPTIONS]);
  const { signal, onProgress, ...same } = options;
  if (options.returnWeights)
    throw new OptionError(
      "return-weights",
      `${what}: returnWeights is not available; rebuild the weights of the rows that you need: attentionWeights(query, key, lse, { rows })`,
      { got: options.returnWeights },
    );
  checkSlices(what, { signal, onProgress });
  return [{ signal, onProgress }, same];
}

/** The work of a backend whose calls return immediately. */
// biome-ignore lint/correctness/useYield: it has one slice
function* oneSlice<T>(work: () => T): WorkSlices<T> {
  return work();
}
