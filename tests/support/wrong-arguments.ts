/** Arguments of every wrong kind, and what a call with them throws. */

const wrong = (): readonly unknown[] => [
  undefined,
  null,
  "x",
  5,
  Symbol("x"),
  {},
  Object.create(null),
  class {},
  new WeakMap(),
  new DataView(new ArrayBuffer(8)),
  BigInt64Array.of(2n),
];

/** Lists of arguments: nothing, each wrong one by itself, and in three places. */
export const WRONG_ARGUMENTS: readonly (readonly unknown[])[] = [
  [],
  ...wrong().map((one) => [one]),
  ...wrong().map((one) => [one, one, one]),
];

/** What is thrown, also later: by a promise, or by the first step of a generator. */
export async function thrownBy(call: () => unknown): Promise<unknown> {
  try {
    const value = (await call()) as Partial<Iterator<unknown>> | undefined | null;
    if (typeof value?.next === "function") await value.next();
    return undefined;
  } catch (error) {
    return error;
  }
}
