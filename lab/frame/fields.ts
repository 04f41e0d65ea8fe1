/**
 * What a reader can change on a page, one field a value: its first value, the values it may have, and how it is written in the address
 * (`#v1?name=value`, only what differs from the first state).
 */
import { type Codec, decodeParts, encodeParts, finite, flag, parseFinite } from "../../ui/address.ts";

/** One value of a state. */
export type FieldValue = number | string | boolean | readonly number[];
/** Everything a reader can change on a page. */
export type LabState = Readonly<Record<string, FieldValue>>;

/** A value of a state. */
export interface Field<T> extends Codec<T> {
  readonly initial: T;
  /** The value, or the nearest one that the field may have, whatever an address or a drag requested. */
  readonly accept: (value: T) => T;
  /** Its name in the address, if that is not its own. */
  readonly address?: string;
}

/** A field for each value of a state. */
export type StateFields<S> = { readonly [P in keyof S]: Field<S[P]> };

/** The value, at least `low` and at most `high`. */
export const clamp = (value: number, low: number, high: number): number =>
  Math.min(high, Math.max(low, value));

/** A number from `low` to `high`, rounded to 1/`perUnit`; by default not rounded. */
export function real(initial: number, low: number, high: number, perUnit?: number): Field<number> {
  const round = (value: number) => (perUnit === undefined ? value : Math.round(value * perUnit) / perUnit);
  // + 0: never −0.
  return { ...finite, initial, accept: (value) => clamp(round(value), low, high) + 0 };
}

/** An integer from `low` to `high`. */
export const integer = (initial: number, low: number, high: number): Field<number> =>
  real(initial, low, high, 1);

/** One of several names or numbers; the first one, unless `initial` is another. */
export function oneOf<T extends string | number>(
  values: readonly T[],
  initial: T = values[0],
): Field<T extends string ? string : number> {
  const field: Field<string | number> = {
    initial,
    accept: (value) => values.find((one) => one === value) ?? initial,
    write: String,
    read: (text) => values.find((value) => String(value) === text),
  };
  return field as unknown as Field<T extends string ? string : number>;
}

/** True or false. */
export const toggle = (initial = false): Field<boolean> => ({ ...flag, initial, accept: (value) => value });

/** A text of at most `limit` characters. */
export const shortText = (limit: number, initial = "", address?: string): Field<string> => ({
  initial,
  address,
  accept: (value) => value.slice(0, limit).trim(),
  write: (value) => value,
  read: (written) => written.slice(0, 400),
});

/** The reader's own sentence, "" for the common one: `own` in the address. */
export const ownSentence: Field<string> = shortText(120, "", "own");

/** Numbers, each as `item` accepts it. A list of none of the lengths is the first list. */
export function numbers(
  initial: readonly number[],
  item: Field<number>,
  hasLength: (length: number) => boolean = (length) => length === initial.length,
): Field<readonly number[]> {
  return {
    initial,
    accept: (list) => (hasLength(list.length) ? list.map(item.accept) : initial),
    write: (list) => list.join(","),
    read(written) {
      if (written === "") return [];
      const list = written.split(",").map(parseFinite);
      return list.length <= 4096 && list.every((value) => value !== undefined) ? list : undefined;
    },
  };
}

/** A guess at a prediction; −1 before there is one. */
export const guess: Field<number> = { ...finite, initial: -1, accept: (value) => value };

/** The first state of fields. */
export const initialOf = <S extends LabState>(fields: StateFields<S>): S =>
  Object.fromEntries(entriesOf(fields).map(([name, { initial }]) => [name, initial])) as unknown as S;

/** The fields by name. */
export const entriesOf = <S extends LabState>(
  fields: StateFields<S>,
): [name: string, field: Field<FieldValue>][] => Object.entries(fields as unknown as StateFields<LabState>);

/** A state with each value as its field accepts it. */
export function acceptState<S extends LabState>(fields: StateFields<S>, state: S): S {
  const accepted: Record<string, unknown> = { ...state };
  for (const [name, { accept }] of entriesOf(fields)) accepted[name] = accept(state[name]);
  return accepted as S;
}

const partsOf = <S extends LabState>(fields: StateFields<S>) =>
  entriesOf(fields).map(([name, field]) => [field.address ?? name, name, field] as const);

/** The fragment of an address, "" for `initial`. */
export function encodeState<S extends LabState>(
  fields: StateFields<S>,
  state: S,
  initial: S = initialOf(fields),
): string {
  const parts = encodeParts<LabState>(partsOf(fields), state, initial);
  return parts.length === 0 ? "" : `#v1?${new URLSearchParams(parts.map(([name, text]) => [name, text]))}`;
}

/** Names in a fragment that no field of the page has. */
export function unknownNames<S extends LabState>(fields: StateFields<S>, hash: string): string[] {
  const search = new URLSearchParams(hash.startsWith("#v1?") ? hash.slice(4) : "");
  const names = new Set(partsOf(fields).map(([address]) => address));
  return [...search.keys()].filter((name) => !names.has(name));
}

/** The state of a fragment. What it does not name, or names with an invalid text, is as in the first state. */
export function decodeState<S extends LabState>(fields: StateFields<S>, hash: string): S {
  const search = new URLSearchParams(hash.startsWith("#v1?") ? hash.slice(4) : "");
  return decodeParts<LabState>(partsOf(fields), (name) => search.get(name), initialOf(fields)) as S;
}
