/**
 * Global tokens with projections of their own (Longformer, Beltagy et al. 2020, arXiv 2004.05150, section 3): they attend to all tokens,
 * and all tokens attend to them. A row of a global token has other queries, keys and values than the rest; both kinds are one call of
 * attention over vectors of twice the size, and the mask is the window or a global token.
 *
 *     [q_i, 0]·[k_j, k'_j] = q_i·k_j                       row i of a local token
 *     [0, q'_i]·[k_j, k'_j] = q'_i·k'_j                    row i of a global token
 *     Σ_j w_ij·[v_j, v'_j]                                 the first half of a local row, the second of a global one
 */
import { placed } from "../../core/device/device.ts";
import { refuseValue } from "../../core/errors.ts";
import { Tensor } from "../../core/tensor.ts";
import { add, concat, type FloatTensor, multiply, slice } from "../../nn/index.ts";

/** Queries, keys and values of all heads, [..., H, N, d] each. */
export interface Projections {
  readonly query: FloatTensor;
  readonly key: FloatTensor;
  readonly value: FloatTensor;
}

/** 1 in the rows of local tokens, and 1 in those of global ones: [N, 1] each. */
interface RowFlags {
  readonly local: FloatTensor;
  readonly global: FloatTensor;
}

/** The positions of `globals`, sorted, each once. Throws an OptionError unless each is the position of one of N tokens. */
export function checkGlobals(what: string, globals: readonly number[], N: number): readonly number[] {
  const isPosition = (i: unknown) => Number.isInteger(i) && (i as number) >= 0 && (i as number) < N;
  if (!Array.isArray(globals) || !globals.every(isPosition))
    refuseValue(what, "globals", `a list of positions, integers from 0 to ${N - 1}`, globals);
  return [...new Set(globals)].sort((a, b) => a - b);
}

/** Both projections as one, and the function that picks each row's half of the output. */
export function joinProjections(
  local: Projections,
  global: Projections,
  globals: readonly number[],
): { readonly inputs: Projections; readonly pick: (output: FloatTensor) => FloatTensor } {
  const N = local.query.shape[local.query.shape.length - 2];
  const rows = rowFlags(globals, N, local.query);
  return {
    inputs: {
      query: concat([multiply(local.query, rows.local), multiply(global.query, rows.global)], -1),
      key: concat([local.key, global.key], -1),
      value: concat([local.value, global.value], -1),
    },
    pick: (output) => {
      const size = output.shape[output.shape.length - 1];
      const half = (from: number) => slice(output, -1, from, from + size / 2);
      return add(multiply(half(0), rows.local), multiply(half(size / 2), rows.global));
    },
  };
}

function rowFlags(globals: readonly number[], N: number, { dtype, device }: FloatTensor): RowFlags {
  const flags = (value: (i: number) => number) => {
    const list = Array.from({ length: N }, (_, i) => value(i));
    const data = dtype === "float64" ? Float64Array.from(list) : Float32Array.from(list);
    return placed("globals", new Tensor(data, [N, 1], dtype), device);
  };
  return { local: flags((i) => +!globals.includes(i)), global: flags((i) => +globals.includes(i)) };
}
