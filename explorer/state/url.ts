/**
 * The state as the part of an address after #, versioned and short: `#v1/head?b=enc&l=4&h=7&i=9&j=2&pin=4.7,0.2`.
 * Only values that differ from the default are written, so old links keep their meaning as long as the defaults do.
 *
 * Law: decode(encode(state)) equals the state, for every state. Parts of an address that no state would write (an unknown name,
 * an invalid number) are ignored, so that a damaged link still opens.
 */

import type { AddressPart, Codec } from "../../ui/address.ts";
import {
  decodeParts,
  encodeParts,
  flag,
  index,
  nameOf,
  numberText,
  parseFinite,
  parseIndex,
} from "../../ui/address.ts";
import { DRAWINGS, PAGES } from "../views/registry.ts";
import { ablatedCode } from "./causes/ablation.ts";
import type { Camera, Edit, Filter, HeadName, State, SwitchedHead } from "./state.ts";
import {
  AGGREGATES,
  ASK_ORDERS,
  ASKS,
  BY_PATTERN,
  CAUSES,
  DEFAULT,
  DOMAINS,
  FLOWS,
  FUSES,
  HIDES,
  indexSet,
  MAX_PINS,
  MEASURES,
  METRIC_NAMES,
  RAMPS,
  SORTS,
  STAGES,
  TRANSFERS,
} from "./state.ts";

/** A number from `low` to `high`. */
const between = (low: number, high: number): Codec<number> => ({
  write: numberText,
  read: (text) => {
    const value = parseFinite(text);
    return value !== undefined && value >= low && value <= high ? value : undefined;
  },
});
const indexOrNull: Codec<number | null> = {
  write: (value) => (value === null ? "" : String(value)),
  read: parseIndex,
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

/** The maximum size of a set in an address, larger than the number of tokens of any text. */
const MAX_MEMBERS = 1 << 17;

/** `3-7,9`. */
const set: Codec<readonly number[]> = {
  write([...values]) {
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
  write: (value) => (value === null ? "" : [value.scale, value.x, value.y].map(numberText).join()),
  read(text) {
    const [scale, x, y, more] = text.split(",").map(Number);
    const good = [scale, x, y].every(Number.isFinite) && more === undefined && scale > 0;
    return good ? { scale, x, y } : undefined;
  },
};

const pinnedCell: Codec<State["pinned"]> = {
  write: (value) => (value === null ? "" : value.join(".")),
  read(text) {
    const [, query, key] = /^(\d{1,15})\.(\d{1,15})$/.exec(text) ?? [];
    return query === undefined ? undefined : [Number(query), Number(key)];
  },
};

/** `1.4.7` text, layer and head; `1.4.7.dec` in a block of another name than the cursor's. */
const other: Codec<State["other"]> = {
  write(value) {
    if (value === null) return "";
    const { text, layer, head, block } = value;
    return `${text}.${layer}.${head}${block === undefined ? "" : `.${quote(block)}`}`;
  },
  read(text) {
    const [, at, layer, head, block] = /^(\d{1,15})\.(\d{1,15})\.(\d{1,15})(?:\.(.*))?$/.exec(text) ?? [];
    if (at === undefined) return undefined;
    const one = { text: Number(at), layer: Number(layer), head: Number(head) };
    return block === undefined ? one : { ...one, block: unquote(block) };
  },
};
/** `4.7,0.2` in the cursor's block, `dec:4.7` in another. */
const pins: Codec<readonly HeadName[], Pick<State, "block">> = {
  write: (value, { block }) =>
    value.map((pin) => `${pin.block === block ? "" : `${quote(pin.block)}:`}${pin.layer}.${pin.head}`).join(),
  read(text, { block: cursorBlock }) {
    const heads: HeadName[] = [];
    for (const one of text.split(",")) {
      const [, name, layer, head] = /^(?:([^:]*):)?(\d{1,15})\.(\d{1,15})$/.exec(one) ?? [];
      const block = name === undefined ? cursorBlock : unquote(name);
      if (layer !== undefined && block !== undefined && heads.length < MAX_PINS)
        heads.push({ block, layer: Number(layer), head: Number(head) });
    }
    return heads;
  },
};

const isMetric = (name: string | undefined): name is string => METRIC_NAMES.some((one) => one === name);

/** `entropy:0.2:1.4,first:0:0.5`. */
const filters: Codec<readonly Filter[]> = {
  write: (value) =>
    value.map(({ metric, low, high }) => `${quote(metric)}:${numberText(low)}:${numberText(high)}`).join(),
  read(text) {
    const list: Filter[] = [];
    for (const one of text.split(",")) {
      const [name = "", low = "", high = ""] = one.split(":");
      const [metric, from, to] = [unquote(name), parseFinite(low), parseFinite(high)];
      if (isMetric(metric) && from !== undefined && to !== undefined && from <= to)
        list.push({ metric, low: from, high: to });
    }
    return list;
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
          ? `s:${numberText(edit.value)}`
          : edit.what === "query"
            ? `q.${edit.index}:${numberText(edit.value)}`
            : `k.${edit.token}.${edit.index}:${numberText(edit.value)}`,
      )
      .join(),
  read(text) {
    const list: Edit[] = [];
    for (const one of text.split(",").slice(0, MAX_EDITS)) {
      const [place = "", number = ""] = one.split(":");
      const value = parseFinite(number);
      if (value === undefined) continue;
      const [, index] = /^q\.(\d{1,7})$/.exec(place) ?? [];
      const [, token, of] = /^k\.(\d{1,7})\.(\d{1,7})$/.exec(place) ?? [];
      if (place === "s") list.push({ what: "scale", value });
      else if (index !== undefined) list.push({ what: "query", index: Number(index), value });
      else if (token !== undefined)
        list.push({ what: "key", token: Number(token), index: Number(of), value });
    }
    return list;
  },
};

/** The maximum number of ablated heads in an address. */
const MAX_ABLATED = 1024;

/** `4.7,4.8m,2.1.5`: layer 4 head 7 off, layer 4 head 8 replaced by its mean, layer 2 head 1 off at token 5 only. */
const ablated: Codec<readonly SwitchedHead[]> = {
  write: (value) => value.map(ablatedCode).join(),
  read(text) {
    const heads = new Map<string, SwitchedHead>();
    for (const one of text.split(",")) {
      const [, layer, head, mean, position] = /^(\d{1,15})\.(\d{1,15})(m?)(?:\.(\d{1,15}))?$/.exec(one) ?? [];
      if (layer === undefined || heads.size >= MAX_ABLATED) continue;
      heads.set(`${Number(layer)}.${Number(head)}`, {
        layer: Number(layer),
        head: Number(head),
        replace: mean === "m" ? "mean" : "zero",
        position: position === undefined ? null : Number(position),
      });
    }
    return [...heads.values()];
  },
};

/** All parts except the view, which is the path, in the order they are written. The block precedes the pins that refer to it. */
const PARTS: readonly AddressPart<State>[] = [
  ["n", "text", index],
  ["b", "block", word],
  ["l", "layer", index],
  ["h", "head", index],
  ["i", "query", index],
  ["j", "key", index],
  ["at", "pinned", pinnedCell],
  ["m", "mode", nameOf(DRAWINGS.map(({ name }) => name))],
  [
    "s",
    "stage",
    nameOf(STAGES, { scores: "q", scaled: "a", masked: "m", weights: "w", contribution: "c", contrast: "o" }),
  ],
  ["x", "transfer", nameOf(TRANSFERS, { linear: "lin" })],
  ["d", "domain", nameOf(DOMAINS, { absolute: "abs" })],
  ["ramp", "ramp", nameOf(RAMPS)],
  ["pool", "pool", nameOf(["max", "mean"] as const)],
  ["hide", "hide", nameOf(HIDES, { special: "sp", first: "1st", chosen: "ch" })],
  ["hk", "hidden", set],
  ["rn", "renormalize", flag],
  ["pin", "pins", pins],
  ["rq", "rows", set],
  ["rk", "columns", set],
  ["g", "aggregate", nameOf(AGGREGATES)],
  ["qs", "querySegments", set],
  ["ks", "keySegments", set],
  ["o", "sort", nameOf<string>(["", BY_PATTERN, ...METRIC_NAMES])],
  ["od", "descending", flag],
  ["oh", "sortHow", nameOf(SORTS)],
  ["f", "filters", filters],
  ["up", "flipped", flag],
  ["z", "camera", camera],
  ["mz", "modelCamera", camera],
  ["v", "values", flag],
  ["ke", "keep", nameOf(["top", "mass"] as const)],
  ["k", "top", index],
  ["ma", "mass", between(0, 1)],
  ["arc", "arcs", flag],
  ["tg", "together", flag],
  ["td", "direction", nameOf(["from", "to"] as const)],
  ["mw", "words", flag],
  ["t", "table", flag],
  ["to", "terms", nameOf(["index", "size"] as const)],
  ["c", "other", other],
  ["a", "ask", nameOf(ASKS)],
  ["ab", "askBy", nameOf(ASK_ORDERS)],
  ["ca", "cause", nameOf(CAUSES)],
  ["me", "measure", nameOf(MEASURES)],
  ["wy", "why", flag],
  ["te", "temperature", between(0, 100)],
  ["e", "edits", edits],
  ["ra", "alpha", between(0, 1)],
  ["fb", "flowBy", nameOf(FLOWS)],
  ["rf", "fuse", nameOf(FUSES)],
  ["rd", "discard", between(0, 0.99)],
  ["rl", "fromLayer", indexOrNull],
  ["off", "ablated", ablated],
  ["pr", "predict", indexOrNull],
];

const VIEW = nameOf(PAGES.map(({ name }) => name));

/** How a part of the state is written; undefined for other names. */
export const codecOf = (part: string): Codec<unknown, State> | undefined =>
  (part === "view" ? VIEW : PARTS.find(([, property]) => property === part)?.[2]) as
    | Codec<unknown, State>
    | undefined;

/** Whether a part of the state can have a value: an address gives it back as it is. */
export function isValueOf(part: string, value: unknown): boolean {
  const codec = codecOf(part);
  try {
    const read = () => codec!.read(codec!.write(value, DEFAULT), DEFAULT);
    return same(value === null ? DEFAULT[part as keyof State] : read(), value);
  } catch {
    return false;
  }
}

/** Whether two values have the same parts. */
const same = (a: unknown, b: unknown): boolean =>
  typeof a === "object" && typeof b === "object" && a && b
    ? Object.keys({ ...a, ...b }).every((name) => same(a[name as keyof typeof a], b[name as keyof typeof b]))
    : Object.is(a, b);

/** The state as `#v1/…`. */
export function encode(state: State): string {
  const parts = encodeParts(PARTS, state, DEFAULT).map(([name, text]) => `${name}=${text}`);
  return `#v1/${state.view}${parts.length > 0 ? `?${parts.join("&")}` : ""}`;
}

/** The state of an address; undefined if it has another form or version. */
export function decode(hash: string): State | undefined {
  const [, path, search = ""] = /^#?v1\/([a-z]+)(?:\?(.*))?$/s.exec(hash) ?? [];
  const view = VIEW.read(path ?? "", undefined);
  if (view === undefined) return undefined;
  const texts = new Map(
    search.split("&").map((part) => {
      const at = part.indexOf("=");
      return [part.slice(0, at), part.slice(at + 1)] as const;
    }),
  );
  return { ...decodeParts(PARTS, (name) => texts.get(name), DEFAULT), view };
}
