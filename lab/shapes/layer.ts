/** A multi-head layer on one sentence: its shapes, parameters and operations. */
import { explain, explainMatmul } from "../../src/index.ts";
import { MultiHeadAttention } from "../../src/nn/index.ts";
import { zerosOf } from "../frame/zeros.ts";
import type { LayerNumbers, Shapes } from "./compute.ts";
import { messageOf } from "./message.ts";

/** What heed gives for a layer of `h` heads on `n` words of `d` numbers. */
export function layerOf({ n, d, h }: Shapes): LayerNumbers {
  try {
    const module = new MultiHeadAttention(d, h, { bias: false, seed: 1 });
    const x = zerosOf([n, d]);
    const { query, key, value, output } = module.forward(x);
    const parameters = [...module.parameters().values()].reduce((sum, one) => sum + one.size, 0);
    // Four projections: to queries, keys and values, and of the heads' outputs.
    const projection = explainMatmul(x, zerosOf([d, d])).operations;
    return {
      query: query.shape,
      output: output.shape,
      parameters,
      operations: 4 * projection + explain(query, key, value).operations,
      error: "",
    };
  } catch (error) {
    return { query: [], output: [], parameters: 0, operations: 0, error: messageOf(error) };
  }
}
