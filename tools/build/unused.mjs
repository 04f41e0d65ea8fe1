/**
 * What no page of the Lab uses, in place of the modules that have it: checks of options, which TypeScript has checked in every call of
 * the Lab; tensors as text; dropout; Luong's scores. The names are those that the modules export.
 */

/** Modules that the Lab's bundles have this file for. */
export const UNUSED =
  /[\\/](?:core[\\/](?:(?:option|known)-names|format)|kernels[\\/]attention[\\/]dropout|history[\\/]luong)\.ts$/;

/** @param {unknown} x */
export const isObject = (x) => Object.prototype.toString.call(x) === "[object Object]";
/** @param {unknown} _what @param {unknown} _name @param {unknown} _kind @param {unknown} x */
export const checkKind = (_what, _name, _kind, x) => x;
export const [checkKinds, checkKnown, checkKnownOptions, checkNames, checkOptionNames] = Array(5).fill(
  () => {},
);
/** Every value is of the kind that it has to be. */
export const KINDS = new Proxy({}, { get: () => () => true });

/** @returns {never} */
function missing() {
  throw new Error("The Lab's bundle leaves this part of heed out: see tools/build/unused.mjs");
}
export const [nestedArray, tensorJson, tensorText, beginDropout, LuongAttention] = Array(5).fill(missing);
