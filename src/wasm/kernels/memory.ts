/** The memory import of every kernel. */

/** The memory that every kernel imports: at least one page, at most 4 GiB. */
export const memoryImport = (spec: { shared: boolean }) => ({
  initial: 1,
  maximum: 65536,
  shared: spec.shared,
});
