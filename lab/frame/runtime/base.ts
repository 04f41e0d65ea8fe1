/** The address of the Lab's files, set by the worker's entry: a worker that was started from a blob has no base address. */
let base: string | undefined;

/** Sets the address; the entry calls it once. */
export function setBase(address: string): void {
  base = address;
}

/** The address of one of the Lab's files. */
export const fileAddress = (name: string): URL => new URL(name, base ?? globalThis.location.href);
