/**
 * What src/core/option-names.ts and src/core/known-names.ts export, without checks: TypeScript has checked the options of every call
 * that a page of the Lab makes. The bundles of the Lab have this in place of both modules.
 */
/** @param {unknown} x */
export const isObject = (x) => Object.prototype.toString.call(x) === "[object Object]";
/** @param {unknown} _what @param {unknown} _name @param {unknown} _kind @param {unknown} x */
export const checkKind = (_what, _name, _kind, x) => x;
export const [checkKinds, checkKnown, checkKnownOptions, checkNames, checkOptionNames] = Array(5).fill(
  () => {},
);
export const SYNONYMS = {};
/** Every value is of the kind that it has to be. */
export const KINDS = new Proxy({}, { get: () => () => true });
