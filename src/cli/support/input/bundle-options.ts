/** The options of commands that write a bundle: which layers and heads go into it, and as which dtype. */
import { FLOAT_DTYPES } from "../../../core/dtype.ts";
import type { BundleOptions } from "../../../store/formats/bundle.ts";
import type { Values } from "../line/command.ts";
import { indices, integer, oneOf, optional } from "../line/values.ts";

/** Dtypes of the numbers in a bundle. */
export const BUNDLE_DTYPES = FLOAT_DTYPES;

/** The bundle options of a command line: `--layers`, `--heads`, `--first`, `--dtype` and `--no-values`. */
export function bundleOptions(values: Values): BundleOptions {
  const list = (name: string) => optional(values, name, indices);
  const [layers, heads] = [list("layers"), list("heads")];
  return {
    ...(layers && { layers }),
    ...(heads && { heads }),
    ...(values.first !== undefined && { tokens: integer("first", values.first, 1) }),
    ...(values.dtype !== undefined && { dtype: oneOf("dtype", values.dtype, BUNDLE_DTYPES) }),
    ...(values["no-values"] === true && { values: false }),
  };
}
