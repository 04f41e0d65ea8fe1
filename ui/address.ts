/**
 * States in addresses: each part of a state has a name and a codec, and only parts that differ from the first state are written, so
 * old links keep their meaning as long as the first state does. Texts that no state would write are ignored.
 */

/** How one part of a state is written and read; `read` returns undefined for invalid text. */
export interface Codec<T, Context = unknown> {
  readonly write: (value: T, context: Context) => string;
  readonly read: (text: string, context: Context) => T | undefined;
  /** The names that it can have, where it is one of several. */
  readonly names?: readonly string[];
}

/** A part of a state: its name in the address, its property, and its codec. */
export type AddressPart<S> = {
  [P in keyof S]: readonly [name: string, property: P, codec: Codec<S[P], S>];
}[keyof S];

/** A number as text that reads back as the same bits, −0 included. */
export const numberText = (value: number): string => (Object.is(value, -0) ? "-0" : String(value));

/** The finite number of a text; undefined for other texts. */
export function parseFinite(text: string): number | undefined {
  const value = Number(text);
  return text.trim() !== "" && Number.isFinite(value) ? value : undefined;
}

/** A finite number. */
export const finite: Codec<number> = { write: numberText, read: parseFinite };

/** The integer from 0 of a text; undefined for other texts. */
export const parseIndex = (text: string): number | undefined =>
  /^\d{1,15}$/.test(text) ? Number(text) : undefined;

/** An integer from 0. */
export const index: Codec<number> = { write: String, read: parseIndex };

/** True or false, as 1 or 0. */
export const flag: Codec<boolean> = {
  write: (value) => (value ? "1" : "0"),
  read: (text) => (text === "1" ? true : text === "0" ? false : undefined),
};

/** One of several names, each with an optional short form. */
export function nameOf<T extends string>(
  names: readonly T[],
  short: Partial<Record<T, string>> = {},
): Codec<T> {
  const shortOf = (name: T) => short[name] ?? name;
  return { names, write: shortOf, read: (text) => names.find((name) => shortOf(name) === text) };
}

/** The parts in which a state differs from `initial`, as names and texts. */
export function encodeParts<S extends object>(
  parts: readonly AddressPart<S>[],
  state: S,
  initial: S,
): (readonly [name: string, text: string])[] {
  const texts = parts.map(([name, property, codec]) => {
    const write = codec.write as Codec<unknown, S>["write"];
    return [name, write(state[property], state), write(initial[property], initial)] as const;
  });
  return texts.flatMap(([name, text, first]) => (text === first ? [] : [[name, text] as const]));
}

/** `initial` with the parts that `textOf` has a valid text for. A part is read with the state of the parts before it. */
export function decodeParts<S extends object>(
  parts: readonly AddressPart<S>[],
  textOf: (name: string) => string | null | undefined,
  initial: S,
): S {
  const state = { ...initial };
  for (const [name, property, codec] of parts) {
    const text = textOf(name);
    const value = text === undefined || text === null ? undefined : codec.read(text, state);
    if (value !== undefined) (state as Record<typeof property, unknown>)[property] = value;
  }
  return state;
}
