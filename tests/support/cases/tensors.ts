/** Random tensors for the tests of layers: normal numbers from a seed. */
import { tensor } from "heed";
import type { FloatTensor } from "heed/nn";
import { random } from "./random.ts";

/** A generator of tensors: each call draws the next numbers. */
export function normals(seed: number, dtype: "float64" | "float32" = "float64") {
  const r = random(seed);
  return (...shape: number[]): FloatTensor => {
    const size = shape.reduce((a, b) => a * b, 1);
    const data = Float64Array.from({ length: size }, () => r.normal());
    return tensor(dtype === "float64" ? data : Float32Array.from(data), shape) as FloatTensor;
  };
}
