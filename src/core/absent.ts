/**
 * Names that PyTorch, NumPy and TensorFlow.js have and heed has not: in plain JavaScript `x.sum()` would be a TypeError without an advice, and
 * `x.T`, `Array.from(x)` and `x.requires_grad = false` would do nothing. This file is imported for its effect alone, by index.ts: programs in
 * Node run it, bundles leave it out. TypeScript knows none of these names.
 */
import { UnsupportedError } from "./errors.ts";
import { Tensor } from "./tensor.ts";

/**
 * Reading one of the names, or assigning it, throws the advice. `names` are separated by spaces. Where subclasses of users may have a method or field
 * of that name, `assignable` lets them.
 */
export function refuseNames(
  prototype: object,
  what: string,
  advice: Readonly<Record<string, string>>,
  assignable = false,
): void {
  for (const [text, names] of Object.entries(advice))
    for (const name of names.split(" ")) {
      const refuse = () => {
        throw new UnsupportedError("method", `${what} has no ${name}; ${text}`, { name });
      };
      const define = function (this: object, value: unknown) {
        Object.defineProperty(this, name, { value, writable: true, enumerable: true, configurable: true });
      };
      Object.defineProperty(prototype, name, {
        get: refuse,
        set: assignable ? define : refuse,
        configurable: true,
      });
    }
}

refuseNames(Tensor.prototype, "Tensor", {
  "x.transpose() exchanges the last two axes, permute(x, order) of heed/nn takes any order":
    "T mT t permute swapaxes",
  "operations are functions of heed/nn: add(x, y), sum(x, axis), reshape(x, shape), pick(x, 0)":
    "add sub mul div multiply divide matmul dot pow exp log sqrt abs sum mean max min argmax argmin softmax relu view unsqueeze squeeze " +
    "expandDims flatten slice masked_fill tril triu var std norm expand repeat flat",
  "toArray() gives nested arrays, toFloat64() a flat one, at(0, 0) one number, and shape and size are fields":
    "numpy tolist array arraySync dataSync item print length forEach map dim ndim numel",
  "contiguous() copies, and stopGradient(x) of heed/nn is a constant": "clone copy detach is_contiguous",
  "await x.to(device) moves it, cast(x, dtype) converts it":
    "cuda cpu float double half int long bool astype asType cast type_as",
  "gradients are those of the tensors that you name: tape.gradients(loss, [x]) of heed/train":
    "grad backward requires_grad requires_grad_ requiresGrad",
});
