/** The fields of a family's config.json: their kinds, which are required, and what must agree. */
import { checkArgument, FormatError, formatValue } from "../../core/errors.ts";
import { activationNamed } from "./activation.ts";
import { type Rule, wrongOf } from "./fields.ts";

/** Maximum values of sizes. */
export const LIMITS = {
  vocabulary: 2 ** 22,
  width: 2 ** 17,
  inner: 2 ** 20,
  layers: 1024,
  heads: 1024,
  positions: 2 ** 26,
};

/** How the configs of a family are read, and the names of width, heads and activation among their fields. */
export interface ConfigSchema {
  readonly fields: readonly Rule[];
  readonly required: readonly string[];
  readonly width: string;
  readonly heads: string;
  readonly activation: string;
  /** The first positions belong to padding. */
  readonly positionsAfterPadding?: boolean;
}

/** Throws a FormatError unless all required fields are present, in their ranges, and consistent. */
export function checkFields(
  type: string,
  { fields, required, width, heads, activation, positionsAfterPadding }: ConfigSchema,
  config: object,
  defaults: object,
): void {
  checkArgument(
    typeof config === "object" && config !== null,
    `${type} model`,
    "a config, as config.json has it",
    config,
  );
  const values = withDefaults(config, defaults) as Record<string, unknown>;
  const refuse = (name: string, text: string): never => {
    throw new FormatError("config", `${type} config: ${text}`, { field: name, got: values[name] });
  };
  for (const rule of fields) {
    const [name] = rule;
    const missing = values[name] === undefined || values[name] === null;
    if (missing && required.includes(name)) refuse(name, `${name} is missing`);
    const expected = missing ? undefined : wrongOf(values[name], rule);
    if (expected !== undefined) refuse(name, `${name} must be ${expected}, got ${formatValue(values[name])}`);
  }
  const [C, H] = [values[width] as number, values[heads] as number];
  if (C % H !== 0) refuse(heads, `${heads} ${H} does not divide ${width} ${C}`);
  const padding = values.pad_token_id as number | undefined;
  if (padding !== undefined && padding >= (values.vocab_size as number))
    refuse("pad_token_id", `pad_token_id ${padding} is not below vocab_size ${values.vocab_size}`);
  const positions = values.max_position_embeddings as number;
  if (positionsAfterPadding && positions <= (padding as number) + 1)
    refuse(
      "max_position_embeddings",
      `max_position_embeddings ${positions} leaves no position after padding`,
    );
  activationNamed(values[activation] as string);
}

/** A config with the family's defaults for fields that it lacks; null, which is Python's spelling of a default, counts as missing. */
export function withDefaults<C extends object, D extends object>(config: C, defaults: D): C & D {
  const present = Object.entries(config).filter(([, value]) => value !== undefined && value !== null);
  return { ...defaults, ...Object.fromEntries(present) } as C & D;
}
