/**
 * Changes in place. A tape keeps the tensors that operations read and reads them again in the backward pass; numbers that have
 * changed in between would give wrong gradients. So every function that changes numbers in place (AdamW, `loadStateDict`, `fill…`)
 * reports the storage here, and the tape compares. Direct writes to `data` are not seen.
 */

/** Number of changes so far. */
export let changeCount = 0;

/** The last change of each storage, by its number. */
const lastChange = /* @__PURE__ */ new WeakMap<object, number>();

/** Reports that the numbers of a tensor are changed in place. */
export function markChanged({ storage }: { readonly storage: object }): void {
  lastChange.set(storage, ++changeCount);
}

/** True where the numbers of a tensor changed after the first `count` changes; false for one that was disposed. */
export function changedSince(t: { readonly storage: object }, count: number): boolean {
  try {
    return (lastChange.get(t.storage) ?? 0) > count;
  } catch {
    return false;
  }
}
