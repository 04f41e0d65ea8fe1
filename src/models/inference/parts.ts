/** What is turned off in turn: every head, layer of attention or feed-forward network of a model, or one link of every head. */
import { OptionError, refuseGot, refuseValue } from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import type { TextModel } from "../text-model.ts";
import { checkIndex, type Intervention } from "./intervene.ts";

/** A part that can be turned off: a head, a layer's attention, a feed-forward network, or a link. */
export type EffectPart = "head" | "attention" | "mlp" | "link";

/** A link of a text, in any head: the query attends to the key. Positions count from 0, special tokens included. */
export interface LinkPlace {
  readonly query: number;
  readonly key: number;
  /** The row's other weights grow so that it sums to 1. Default false. */
  readonly renormalize?: boolean;
}

/** Which parts are turned off in turn. */
export interface PartsOptions {
  /** The kinds of parts: `head`, `attention`, `mlp`. */
  readonly parts?: readonly Exclude<EffectPart, "link">[];
  /** Instead of parts: this link, in one head after the other. */
  readonly link?: LinkPlace;
  /** Only this layer. Default all. */
  readonly layer?: number;
  /** Only this head of each layer. Default all. */
  readonly head?: number;
}

/** Names of `PartsOptions`. */
export const PARTS_OPTIONS = ["parts", "link", "layer", "head"] as const;

const KINDS = ["head", "attention", "mlp"] as const;

/** Each part in turn, layer by layer, of a text of N tokens; `preset` is the default of `parts`. */
export function partsInTurn(
  what: string,
  model: TextModel,
  N: number,
  options: PartsOptions,
  preset: NonNullable<PartsOptions["parts"]>,
): Intervention[] {
  const { parts = preset, link, layer: onlyLayer, head: onlyHead } = options;
  if (link !== undefined && options.parts !== undefined)
    throw new OptionError("link", `${what}: parts and link exclude each other; leave out one of them`);
  if (!Array.isArray(parts)) refuseValue(what, "parts", 'a list such as ["head"]', parts);
  for (const part of parts)
    if (!KINDS.includes(part)) refuseGot("parts", `${what}: parts are ${KINDS.join(", ")}`, part);
  if (onlyLayer !== undefined) checkIndex(what, "layer", onlyLayer, model.layers);
  if (onlyHead !== undefined) checkIndex(what, "head", onlyHead, model.heads);
  if (link !== undefined) checkLink(what, link, N);
  const layers = onlyLayer === undefined ? [...Array(model.layers).keys()] : [onlyLayer];
  const heads = onlyHead === undefined ? [...Array(model.heads).keys()] : [onlyHead];
  return layers.flatMap((layer): Intervention[] =>
    link
      ? heads.map((head) => ({ ...link, part: "link", layer, head }))
      : parts.flatMap((part): Intervention[] =>
          part === "head" ? heads.map((head) => ({ part, layer, head })) : [{ part, layer }],
        ),
  );
}

function checkLink(what: string, link: LinkPlace, N: number): void {
  if (typeof link !== "object" || link === null) refuseValue(what, "link", "{ query, key }", link);
  checkOptionNames(`${what}: link`, link, ["query", "key", "renormalize"]);
  checkIndex(what, "link.query", link.query, N);
  checkIndex(what, "link.key", link.key, N);
}

/** The part, layer and head of an intervention. */
export function placeOf(one: Intervention): {
  readonly part: EffectPart;
  readonly layer: number;
  readonly head?: number;
} {
  const { layer } = one;
  const part = (one.part ?? "head") as EffectPart;
  return { part, layer, ...(one.head !== undefined && { head: one.head }) };
}
