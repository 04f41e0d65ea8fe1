/**
 * The state as the part of an address after #, versioned and short: `#v1/head?b=enc&l=4&h=7&i=9&j=2&pin=4.7,0.2`.
 * Only values that differ from the default are written, so old links keep their meaning as long as the defaults do.
 *
 * Law: decode(encode(state)) equals the state, for every state. Parts of an address that no state would write (an unknown name,
 * an invalid number) are ignored, so that a damaged link still opens.
 */

import { DRAWINGS, PAGES } from "../views/registry.ts";
import { ablatedCode } from "./ablation.ts";
import {
  AGGREGATES,
  ASK_ORDERS,
  ASKS,
  type Camera,
  DEFAULT,
  DOMAINS,
  type Edit,
  type Filter,
  FLOWS,
  FUSES,
  type HeadName,
  HIDES,
  indexSet,
  MAX_PINS,
  RAMPS,
  SORTS,
  STAGES,
  type State,
  type SwitchedHead,
  TRANSFERS,
} from "./state.ts";

/** How one part of the state is written and read; `read` returns undefined for invalid text. */
interface Codec<T> {
  readonly write: (value: T, state: State) => string;
  readonly read: (text: string, block: string) => T | undefined;
}

/** The value if it is valid. */
const only = <T>(value: T, good: boolean): T | undefined => (good ? value : undefined);

const index: Codec<number> = {
  write: String,
  read: (text) => only(Number(text), /^\d{1,15}$/.test(text)),
};
/** A number as text that reads back as the same bits, −0 included. */
const plain = (value: number) => (Object.is(value, -0) ? "-0" : String(value));
const finite: Codec<number> = {
  write: plain,
  read: (text) => only(Number(text), text.trim() !== "" && Number.isFinite(Number(text))),
};
/** A number from 0 to `max`. */
const share = (max: number): Codec<number> => ({
  write: plain,
  read: (text) => {
    const value = finite.read(text, "");
    return value !== undefined && value >= 0 && value <= max ? value : undefined;
  },
});
const indexOrNull: Codec<number | null> = {
  write: (value) => (value === null ? "" : String(value)),
  read: (text, block) => index.read(text, block),
};
const flag: Codec<boolean> = {
  write: (value) => (value ? "1" : "0"),
  read: (text) => only(text === "1", text === "0" || text === "1"),
};
const word: Codec<string> = { write: quote, read: unquote };

function quote(text: string): string {
  // An unpaired surrogate cannot be percent-encoded: it is written as its code.
  return encodeURIComponent(
    text.replace(/\p{Cs}|!/gu, (one) => `!${one.charCodeAt(0).toString(16).padStart(4, "0")}`),
  );
}

function unquote(text: string): string | undefined {
  try {
    return decodeURIComponent(text).replace(/!([0-9a-f]{4})/g, (_, code) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    );
  } catch {
    return undefined;
  }
}

/** One of several names, each with an optional short form. */
function choice<T extends string>(names: readonly T[], short: Partial<Record<T, string>> = {}): Codec<T> {
  const shortOf = (name: T) => short[name] ?? name;
  return { write: shortOf, read: (text) => names.find((name) => shortOf(name) === text) };
}

/** The maximum size of a set in an address, larger than the number of tokens of any text. */
const MAX_MEMBERS = 1 << 17;

/** `3-7,9`. */
const set: Codec<readonly number[]> = {
  write(values) {
    const runs: string[] = [];
    for (let i = 0; i < values.length; i++) {
      const first = values[i];
      while (i + 1 < values.length && values[i + 1] === values[i] + 1) i++;
      runs.push(first === values[i] ? `${first}` : `${first}-${values[i]}`);
    }
    return runs.join();
  },
  read(text) {
    const values: number[] = [];
    for (const run of text.split(",")) {
      const [, first, last = first] = /^(\d{1,7})(?:-(\d{1,7}))?$/.exec(run) ?? [];
      if (first === undefined) continue;
      for (let value = Number(first); value <= Number(last) && values.length < MAX_MEMBERS; value++)
        values.push(value);
    }
    return indexSet(values);
  },
};

const camera: Codec<Camera | null> = {
  write: (value) => (value === null ? "" : [value.scale, value.x, value.y].map(plain).join()),
  read(text) {
    const [scale, x, y, more] = text.split(",").map(Number);
    const good = [scale, x, y].every(Number.isFinite) && more === undefined && scale > 0;
    return only({ scale, x, y }, good);
  },
};

const pinnedCell: Codec<State["pinned"]> = {
  write: (value) => (value === null ? "" : value.join(".")),
  read(text) {
    const [, query, key] = /^(\d{1,15})\.(\d{1,15})$/.exec(text) ?? [];
    return query === undefined ? undefined : [Number(query), Number(key)];
  },
};

const other: Codec<State["other"]> = {
  write: (value) => (value === null ? "" : [value.text, value.layer, value.head].join(".")),
  read(text) {
    const [, at, layer, head] = /^(\d{1,15})\.(\d{1,15})\.(\d{1,15})$/.exec(text) ?? [];
    return at === undefined ? undefined : { text: Number(at), layer: Number(layer), head: Number(head) };
  },
};
/** `4.7,0.2` in the cursor's block, `dec:4.7` in another. */
const pins: Codec<readonly HeadName[]> = {
  write: (value, { block }) =>
    value.map((pin) => `${pin.block === block ? "" : `${quote(pin.block)}:`}${pin.layer}.${pin.head}`).join(),
  read(text, own) {
    const found: HeadName[] = [];
    for (const one of text.split(",")) {
      const [, name, layer, head] = /^(?:([^:]*):)?(\d{1,15})\.(\d{1,15})$/.exec(one) ?? [];
      const block = name === undefined ? own : unquote(name);
      if (layer !== undefined && block !== undefined && found.length < MAX_PINS)
        found.push({ block, layer: Number(layer), head: Number(head) });
    }
    return found;
  },
};

/** `entropy:0.2:1.4,first:0:0.5`. */
const filters: Codec<readonly Filter[]> = {
  write: (value) =>
    value.map(({ metric, low, high }) => `${quote(metric)}:${plain(low)}:${plain(high)}`).join(),
  read(text) {
    const found: Filter[] = [];
    for (const one of text.split(",")) {
      const [name = "", low = "", high = ""] = one.split(":");
      const [metric, from, to] = [unquote(name), finite.read(low, ""), finite.read(high, "")];
      if (metric !== undefined && from !== undefined && to !== undefined)
        found.push({ metric, low: from, high: to });
    }
    return found;
  },
};

/** The maximum number of edits in an address. */
const MAX_EDITS = 1024;

/** `q.3:0.5,k.7.2:1.5,s:0.25`: component 3 of the query, component 2 of key token 7, the scale. */
const edits: Codec<readonly Edit[]> = {
  write: (value) =>
    value
      .map((edit) =>
        edit.what === "scale"
          ? `s:${plain(edit.value)}`
          : edit.what === "query"
            ? `q.${edit.index}:${plain(edit.value)}`
            : `k.${edit.token}.${edit.index}:${plain(edit.value)}`,
      )
      .join(),
  read(text) {
    const found: Edit[] = [];
    for (const one of text.split(",").slice(0, MAX_EDITS)) {
      const [place = "", number = ""] = one.split(":");
      const value = finite.read(number, "");
      if (value === undefined) continue;
      const [, index] = /^q\.(\d{1,7})$/.exec(place) ?? [];
      const [, token, of] = /^k\.(\d{1,7})\.(\d{1,7})$/.exec(place) ?? [];
      if (place === "s") found.push({ what: "scale", value });
      else if (index !== undefined) found.push({ what: "query", index: Number(index), value });
      else if (token !== undefined)
        found.push({ what: "key", token: Number(token), index: Number(of), value });
    }
    return found;
  },
};

/** The maximum number of ablated heads in an address. */
const MAX_ABLATED = 1024;

/** `4.7,4.8m,2.1.5`: layer 4 head 7 off, layer 4 head 8 replaced by its mean, layer 2 head 1 off at token 5 only. */
const ablated: Codec<readonly SwitchedHead[]> = {
  write: (value) => value.map(ablatedCode).join(),
  read(text) {
    const found = new Map<string, SwitchedHead>();
    for (const one of text.split(",")) {
      const [, layer, head, mean, position] = /^(\d{1,15})\.(\d{1,15})(m?)(?:\.(\d{1,15}))?$/.exec(one) ?? [];
      if (layer === undefined || found.size >= MAX_ABLATED) continue;
      found.set(`${Number(layer)}.${Number(head)}`, {
        layer: Number(layer),
        head: Number(head),
        replace: mean === "m" ? "mean" : "zero",
        position: position === undefined ? null : Number(position),
      });
    }
    return [...found.values()];
  },
};

/** The parts of the state except the view. */
type Part = Exclude<keyof State, "view">;
type Entry = { [P in Part]: readonly [name: string, part: P, codec: Codec<State[P]>] }[Part];

/** All parts except the view, which is the path, in the order they are written. The block precedes the pins that refer to it. */
const PARTS: readonly Entry[] = [
  ["n", "text", index],
  ["b", "block", word],
  ["l", "layer", index],
  ["h", "head", index],
  ["i", "query", index],
  ["j", "key", index],
  ["at", "pinned", pinnedCell],
  ["m", "mode", choice(DRAWINGS.map(({ name }) => name as State["mode"]))],
  ["s", "stage", choice(STAGES, { scores: "q", scaled: "a", masked: "m", weights: "w", contribution: "c" })],
  ["x", "transfer", choice(TRANSFERS, { linear: "lin" })],
  ["d", "domain", choice(DOMAINS, { absolute: "abs" })],
  ["ramp", "ramp", choice(RAMPS)],
  ["pool", "pool", choice(["max", "mean"] as const)],
  ["hide", "hide", choice(HIDES, { special: "sp", first: "1st", chosen: "ch" })],
  ["hk", "hidden", set],
  ["rn", "renormalize", flag],
  ["pin", "pins", pins],
  ["rq", "rows", set],
  ["rk", "columns", set],
  ["g", "aggregate", choice(AGGREGATES)],
  ["qs", "querySegments", set],
  ["ks", "keySegments", set],
  ["o", "sort", word],
  ["od", "descending", flag],
  ["oh", "sortHow", choice(SORTS)],
  ["f", "filters", filters],
  ["up", "flipped", flag],
  ["z", "camera", camera],
  ["mz", "modelCamera", camera],
  ["v", "values", flag],
  ["ke", "keep", choice(["top", "mass"] as const)],
  ["k", "top", index],
  ["ma", "mass", finite],
  ["arc", "arcs", flag],
  ["tg", "together", flag],
  ["td", "direction", choice(["from", "to"] as const)],
  ["mw", "words", flag],
  ["t", "table", flag],
  ["to", "terms", choice(["index", "size"] as const)],
  ["c", "other", other],
  ["a", "ask", choice(ASKS)],
  ["ab", "askBy", choice(ASK_ORDERS)],
  ["te", "temperature", finite],
  ["e", "edits", edits],
  ["ra", "alpha", share(1)],
  ["fb", "flowBy", choice(FLOWS)],
  ["rf", "fuse", choice(FUSES)],
  ["rd", "discard", share(0.99)],
  ["rl", "fromLayer", indexOrNull],
  ["off", "ablated", ablated],
  ["pr", "predict", indexOrNull],
];

/** The state as `#v1/…`. */
export function encode(state: State): string {
  const written: string[] = [];
  for (const [name, part, codec] of PARTS) {
    const write = codec.write as Codec<unknown>["write"];
    const text = write(state[part], state);
    if (text !== write(DEFAULT[part], DEFAULT)) written.push(`${name}=${text}`);
  }
  return `#v1/${state.view}${written.length > 0 ? `?${written.join("&")}` : ""}`;
}

/** The state of an address; undefined if it has another form or version. */
export function decode(hash: string): State | undefined {
  const [, path, search = ""] = /^#?v1\/([a-z]+)(?:\?(.*))?$/s.exec(hash) ?? [];
  const view = PAGES.find(({ name }) => name === path)?.name;
  if (view === undefined) return undefined;
  const given = new Map(
    search.split("&").map((one) => {
      const at = one.indexOf("=");
      return [one.slice(0, at), one.slice(at + 1)] as const;
    }),
  );
  const state: Record<string, unknown> = { ...DEFAULT, view };
  for (const [name, part, codec] of PARTS) {
    const text = given.get(name);
    const value = text === undefined ? undefined : codec.read(text, state.block as string);
    if (value !== undefined) state[part] = value;
  }
  return state as unknown as State;
}
