/** A state in the address: `#v1?name=value`, only what differs from the first state. Lists are joined by commas. */
import type { State, Value } from "../page.ts";

/** The fragment of an address, "" for the first state. */
export function encodeState(state: State, initial: State): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(state))
    if (textOf(value) !== textOf(initial[name])) search.set(name, textOf(value));
  const text = search.toString();
  return text === "" ? "" : `#v1?${text}`;
}

/** The state that a fragment asks for. What it does not name, or names wrongly, is that of `initial`. */
export function decodeState<S extends State>(hash: string, initial: S): S {
  const state: Record<string, Value> = { ...initial };
  if (hash.startsWith("#v1?"))
    for (const [name, text] of new URLSearchParams(hash.slice(4))) {
      const before = Object.hasOwn(initial, name) ? initial[name] : undefined;
      const value = before === undefined ? undefined : parseValue(text, before);
      if (value !== undefined) state[name] = value;
    }
  return state as S;
}

/** A value as text. */
function textOf(value: Value): string {
  if (typeof value === "boolean") return value ? "1" : "0";
  return typeof value === "object" ? value.join(",") : String(value);
}

/** Text as a value of the same type as `like`, or undefined. */
function parseValue(text: string, like: Value): Value | undefined {
  if (typeof like === "string") return text.slice(0, 400);
  if (typeof like === "boolean") return text === "1" || (text === "0" ? false : undefined);
  if (typeof like === "number") return finite(text);
  if (text === "") return [];
  const list = text.split(",").map(finite);
  return list.length <= 4096 && list.every((one) => one !== undefined) ? (list as number[]) : undefined;
}

function finite(text: string): number | undefined {
  const value = Number(text);
  return text.trim() !== "" && Number.isFinite(value) ? value : undefined;
}
