/** Checks of the first arguments of public functions. All throw an OptionError with the code "argument". */
import { argumentError, isList } from "../core/errors.ts";

/** Throws unless `store` is a store. */
export function checkStore(what: string, store: { readonly blocks: unknown } | undefined): void {
  if (!isList(store?.blocks)) throw argumentError(what, "a store, as openStore and storeFrom return", store);
}

/** Throws unless `row` is an array of numbers. */
export function checkRow(what: string, row: ArrayLike<number>): void {
  if (!isList(row)) throw argumentError(what, "a row of numbers", row);
}

/** Throws unless `value` is an object: `name` says what it must be. */
export function checkObject(what: string, name: string, value: object | undefined): void {
  if (typeof value !== "object" || value === null) throw argumentError(what, name, value);
}
