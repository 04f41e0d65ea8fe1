/** Where the Lab's files are, as its worker's entry knows it: a worker that another page started has no address of its own. */
let base: string | undefined;

/** Says where; called once, by the entry. */
export function setBase(address: string): void {
  base = address;
}

/** The address of one of the Lab's files. */
export const fileAddress = (name: string): URL => new URL(name, base ?? globalThis.location.href);
