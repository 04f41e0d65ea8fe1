/** Named parameters of a model that is being trained: made in order from one seed, read by name. */
import { arrayFor } from "../core/dtype.ts";
import { Tensor } from "../core/tensor.ts";
import { layerNorm } from "../nn/ops/normalise.ts";
import { linear } from "../nn/ops/products.ts";
import { Generator } from "./random.ts";

/** Tensors by name, and the two layers every transformer is made of. */
export class Parameters {
  readonly all = new Map<string, Tensor>();
  readonly #dtype: "float32" | "float64";
  readonly #generator: Generator;

  constructor(seed: number, dtype: "float32" | "float64" = "float32") {
    this.#dtype = dtype;
    this.#generator = new Generator(seed, 0);
  }

  /** A new parameter: normal numbers of a standard deviation, or a number everywhere. Float64 starts at float32 numbers. */
  make(name: string, shape: readonly number[], start: { readonly std: number } | number): void {
    const size = shape.reduce((n, x) => n * x, 1);
    const data = arrayFor(this.#dtype, size) as Float32Array;
    if (typeof start === "number") data.fill(start);
    else for (let i = 0; i < size; i++) data[i] = Math.fround(start.std * this.#generator.normal());
    this.all.set(name, new Tensor(data, shape, this.#dtype));
  }

  /** `NAME.weight` [out, in] and `NAME.bias` [out]. */
  makeLinear(name: string, inputs: number, outputs: number, std: number): void {
    this.make(`${name}.weight`, [outputs, inputs], { std });
    this.make(`${name}.bias`, [outputs], 0);
  }

  /** `NAME.weight` and `NAME.bias` of a layer norm. */
  makeNorm(name: string, size: number): void {
    this.make(`${name}.weight`, [size], 1);
    this.make(`${name}.bias`, [size], 0);
  }

  get(name: string): Tensor {
    return this.all.get(name) as Tensor;
  }

  linear(x: Tensor, name: string): Tensor {
    return linear(x, this.get(`${name}.weight`), this.get(`${name}.bias`));
  }

  norm(x: Tensor, name: string, eps: number): Tensor {
    return layerNorm(x, this.get(`${name}.weight`), this.get(`${name}.bias`), { eps });
  }
}
