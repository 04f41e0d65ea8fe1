/** Checks of the first arguments of public functions. All throw an OptionError with the code "argument". */
import { argumentError, formatValue, isList, OptionError, refuseGot, refuseValue } from "../core/errors.ts";
import { checkKinds, checkNames } from "../core/option-names.ts";
import type { TileAddress } from "./measures/tile.ts";

/** Throws unless `store` is a store. */
export function checkStore(what: string, store: { readonly blocks: unknown } | undefined): void {
  // What storeFrom takes has blocks too.
  if (!isList(store?.blocks) || typeof (store as { readonly load?: unknown }).load !== "function")
    throw argumentError(what, "a store, as openStore and storeFrom return", store);
}

/** Throws where a request has an option that it does not take. */
export function checkRequest(what: string, request: object = {}, names: readonly string[] = []): void {
  checkNames(what, request, ["signal", "onProgress", ...names]);
}

/** Throws unless a position is one of the `length` positions of a text. */
export function checkPosition(what: string, name: string, position: number, length: number): void {
  if (!(Number.isInteger(position) && position >= 0 && position < length))
    throw new OptionError(
      name,
      `${what}: ${name} must be an integer from 0 to ${length - 1}, got ${formatValue(position)}`,
      { [name]: position },
    );
}

/** Throws unless `row` is an array of numbers. */
export function checkRow(what: string, row: ArrayLike<number>): void {
  if (!isList(row)) throw argumentError(what, "a row of numbers", row);
}

/** Throws unless `value` is an object: `name` says what it must be. */
export function checkObject(what: string, name: string, value: object | undefined): void {
  if (typeof value !== "object" || value === null) throw argumentError(what, name, value);
}

/** Throws where the address of a tile is none. */
export function checkTile(address: TileAddress): void {
  checkKinds("HeadStore.tile", address, { "": "stage transfer level i j", "a number": "domain" });
  const { transfer, level, i, j, domain } = address;
  if (!["sqrt", "linear", "log"].includes(transfer))
    refuseValue("HeadStore.tile", "transfer", '"sqrt", "linear" or "log"', transfer);
  for (const [name, n] of Object.entries({ level, i, j }))
    if (!(Number.isInteger(n) && n >= 0 && n < 2 ** 24))
      refuseGot("tile", `HeadStore.tile: ${name} must be an integer from 0`, n, { [name]: n });
  if (domain !== undefined && !(domain > 0))
    refuseGot("tile", "HeadStore.tile: domain must be a number above 0", domain, { domain });
}
