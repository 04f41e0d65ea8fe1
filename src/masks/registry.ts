/**
 * Masks by name: names in files, on the command line and in figures, with parameters and builders. A builder that
 * `index.ts` exports is registered by its property `kind`, so a new mask needs no line here.
 *
 *     { "dilated": 3 }    { "slidingWindow": { "left": 128, "right": 0 } }    { "and": ["causal", { "documents": [0, 0, 1] }] }
 */
import { FormatError, formatValue } from "../core/errors.ts";
import { and, not, or } from "./combine.ts";
import type { Mask } from "./expression/expr.ts";
import * as masks from "./index.ts";
import type { MaskKind, MaskParameter } from "./kind.ts";

export type { MaskKind } from "./kind.ts";

/** The kind of every mask builder that has one, sorted by name. */
export const MASK_KINDS: readonly MaskKind[] = Object.values(masks)
  .flatMap((one): MaskKind[] => ("kind" in one ? [one.kind as MaskKind] : []))
  .sort((a, b) => (a.name < b.name ? -1 : 1));

/** A mask as JSON: a name, a name with its parameters, or a combination of masks. */
export type MaskJson =
  | string
  | { readonly and: readonly MaskJson[] }
  | { readonly or: readonly MaskJson[] }
  | { readonly not: MaskJson }
  | { readonly [name: string]: unknown };

/**
 * Builds a mask from JSON. Throws a `FormatError` whose message begins with `where` for a name that is not registered, or a
 * parameter that is missing, unknown or invalid.
 *
 * @example
 * maskFromJson({ and: ["causal", { dilated: 2 }] }); // and(causal(), dilated(2))
 */
export function maskFromJson(value: unknown, where = "mask"): Mask {
  const parsed = parse(value, where);
  if ("kind" in parsed) return parsed.kind.build(parsed.parameters);
  const { operator } = parsed;
  const masks = parsed.members.map((member, n) => maskFromJson(member, `${where}.${operator}[${n}]`));
  return operator === "not" ? not(masks[0]) : operator === "and" ? and(...masks) : or(...masks);
}

/** The mask in words: "causal and one key in 2". */
export function describeMask(value: MaskJson): string {
  const parsed = parse(value, "mask");
  if ("kind" in parsed) return parsed.kind.describe(parsed.parameters);
  const { operator } = parsed;
  const texts = parsed.members.map((member) => describeMask(member as MaskJson));
  return operator === "not" ? `not ${texts[0]}` : texts.join(` ${operator} `);
}

/** True for the name of a registered mask, alone or with parameters, and for a combination of masks. Members are not checked. */
export function isMaskJson(value: unknown): value is MaskJson {
  if (typeof value === "string") return MASK_KINDS.some(({ name }) => name === value);
  if (value === null || typeof value !== "object" || Array.isArray(value)) return false;
  const names = Object.keys(value);
  return names.length === 1 && (isOperator(names[0]) || MASK_KINDS.some(({ name }) => name === names[0]));
}

type Operator = "and" | "or" | "not";

const isOperator = (name: string): name is Operator => name === "and" || name === "or" || name === "not";

type Parsed =
  | { readonly operator: Operator; readonly members: readonly unknown[] }
  | { readonly kind: MaskKind; readonly parameters: Readonly<Record<string, unknown>> };

function parse(value: unknown, where: string): Parsed {
  if (!isMaskJson(value))
    throw new FormatError(
      "mask",
      `${where}: expected one of ${MASK_KINDS.map(({ name }) => name).join(", ")} with its parameters, or { and }, { or }, { not } of them, got ${formatValue(value)}`,
      { where, got: value },
    );
  const [name, fields] = typeof value === "string" ? [value, {}] : Object.entries(value)[0];
  if (isOperator(name)) {
    const members: unknown = name === "not" ? [fields] : fields;
    if (!Array.isArray(members) || members.length === 0)
      throw new FormatError(
        "mask",
        `${where}.${name}: expected a list of masks, got ${formatValue(fields)}`,
        { where },
      );
    return { operator: name, members };
  }
  const kind = MASK_KINDS.find((one) => one.name === name)!;
  return { kind, parameters: readParameters(kind, fields, where) };
}

/** Checked parameters by name. A mask with a single parameter also takes its value: `{ "dilated": 3 }`. */
function readParameters(
  { name, parameters }: MaskKind,
  value: unknown,
  where: string,
): Readonly<Record<string, unknown>> {
  const plain = value !== null && typeof value === "object" && !Array.isArray(value);
  const values: Readonly<Record<string, unknown>> =
    parameters.length === 1 && !plain
      ? { [parameters[0].name]: value }
      : ((value ?? {}) as Record<string, unknown>);
  for (const key of Object.keys(values))
    if (!parameters.some((one) => one.name === key))
      throw new FormatError(
        "mask",
        `${where}: ${name} has no parameter ${formatValue(key)}; it takes ${parameters.map((one) => one.name).join(", ") || "none"}`,
        { where, parameter: key },
      );
  for (const parameter of parameters)
    if (!fits(parameter, values[parameter.name]))
      throw new FormatError(
        "mask",
        `${where}: ${name}: ${parameter.name} must be ${expected(parameter)}, got ${formatValue(values[parameter.name])}`,
        { where, parameter: parameter.name },
      );
  return values;
}

function fits({ type, least }: MaskParameter, value: unknown): boolean {
  const isInteger = (x: unknown) => typeof x === "number" && Number.isInteger(x) && x >= least && x < 2 ** 31;
  return type === "integer" ? isInteger(value) : Array.isArray(value) && value.every(isInteger);
}

function expected({ type, least }: MaskParameter): string {
  return type === "integer" ? `an integer from ${least}` : `a list of integers from ${least}`;
}
