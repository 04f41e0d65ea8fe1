/**
 * What a tensor is to its layer: a parameter is trained and saved, a frozen one and a buffer are saved. And which parameters a list of
 * parameters has named: a tape refuses to leave out one that none has.
 */

/** What a tensor of a layer is. */
export type TensorKind = "parameter" | "frozen" | "buffer";

const kinds = /* @__PURE__ */ new WeakMap<object, TensorKind>();
const listed = /* @__PURE__ */ new WeakSet<object>();

/** Sets what a tensor is, and returns it. */
export function setKind<T extends object>(t: T, kind: TensorKind): T {
  kinds.set(t, kind);
  return t;
}

/** What a tensor is to its layer; undefined for any other tensor. */
export const kindOf = (t: object): TensorKind | undefined => kinds.get(t);

/** Reports that `parameters()` of a layer names a tensor. */
export const markListed = (t: object): void => void listed.add(t);

/** True for a parameter that no `parameters()` has named. */
export const isUnlisted = (t: object): boolean => kinds.get(t) === "parameter" && !listed.has(t);
