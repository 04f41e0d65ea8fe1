/**
 * What layers differ in, as config.json has it: windows and rotary positions, in the spellings of transformers 4 and 5.
 */
import { UnsupportedError } from "../../core/errors.ts";
import { quote } from "../../io/refuse.ts";
import type { AngleScaling, RotaryConfig } from "../transformer/angles.ts";
import type { LayerConfig } from "../transformer/config.ts";
import type { Fields } from "./fields.ts";

/** What a family's layers do where config.json does not say. */
export interface LayerDefaults {
  /** Base of the angles, and the field that has it; default 10,000 in `rope_theta`. */
  readonly theta?: number;
  readonly thetaField?: string;
  /** Share of a head that rotates; without it the family has no such field, and all rotates. */
  readonly rotaryShare?: number;
  readonly rotaryShareField?: string;
  /** The numbers that rotate, in place of a share. */
  readonly rotaryDim?: number;
  readonly layout?: RotaryConfig["layout"];
  /** `alpha` beside rope_type "dynamic" multiplies the base by alpha^(d / (d − 2)), whatever the length of a text. */
  readonly alpha?: boolean;
  /** Sliding layers have angles of their own: the field of their base in transformers 4, and its default. */
  readonly localAngles?: { readonly field: string; readonly theta: number };
  /** Size of a head in layers without a window; default that of all layers. */
  readonly fullHeadSize?: number;
  /** Which layers rotate; default all. */
  readonly rotates?: (layer: number, sliding: boolean) => boolean;
  /** Which layers have a norm before attention; default all. */
  readonly normalizes?: (layer: number) => boolean;
  /** Which layers have a window, where there is no `layer_types`; default none. */
  readonly slides?: (layer: number) => boolean;
  /** A window for a config without the field. */
  readonly window?: number;
  /** Windows only if `use_sliding_window` says so. */
  readonly optIn?: boolean;
}

interface RotarySizes {
  readonly rotaryDim: number;
  readonly positions: number;
}

/** The window and the rotary positions of each layer. */
export function readLayers(
  fields: Fields,
  sizes: { readonly layers: number; readonly head_dim: number; readonly positions: number },
  defaults: LayerDefaults = {},
): LayerConfig[] {
  const { layers: count } = sizes;
  const types = fields.list<string>("layer_types", ["", "text"], 1024);
  if (types && types.length !== count) fields.refuse("layer_types", `must be a list of ${count}`);
  for (const name of types ?? [])
    if (name !== "full_attention" && name !== "sliding_attention")
      throw new UnsupportedError(
        "config",
        `config.json: layer_types holds ${quote(name)}; heed computes "full_attention" and "sliding_attention"`,
        { field: "layer_types" },
      );
  const { slides = () => false, rotates = () => true, normalizes = () => true, optIn } = defaults;
  const window = fields.optional<number>(["sliding_window", "size", 2 ** 30]) ?? defaults.window;
  const hasWindow =
    window !== undefined && (!optIn || fields.one<boolean>(["use_sliding_window", "flag"], false));
  const rotary = readRotary(fields, sizes, defaults);
  return Array.from({ length: count }, (_, layer) => {
    const sliding = types ? types[layer] === "sliding_attention" : slides(layer);
    if (sliding && types && window === undefined)
      fields.refuse("sliding_window", "is missing, but layer_types has sliding_attention");
    return {
      ...(sliding && hasWindow && { window }),
      ...(rotates(layer, sliding) && { rotary: rotary(sliding) }),
      ...(!normalizes(layer) && { attention_norm: false }),
    };
  });
}

/** Rotary positions of sliding and of full layers, in either spelling. */
function readRotary(
  fields: Fields,
  { head_dim, positions }: { readonly head_dim: number; readonly positions: number },
  { theta = 10_000, thetaField = "rope_theta", layout, localAngles, ...defaults }: LayerDefaults,
): (sliding: boolean) => RotaryConfig {
  const parameters = fields.object("rope_parameters");
  const fullParameters = parameters?.object("full_attention") ?? parameters;
  const scaling = fullParameters ?? fields.object("rope_scaling");
  const baseOf = (from: Fields | undefined, name: string, base: number) =>
    from?.optional<number>(["rope_theta", "number"]) ?? fields.one<number>([name, "number"], base);
  const { rotaryShare, rotaryShareField = "partial_rotary_factor" } = defaults;
  // Of proportional angles the share is part of the scaling (scalingOf).
  const share =
    fullParameters?.value("rope_type") === "proportional"
      ? 1
      : (fullParameters?.optional<number>(["partial_rotary_factor", "number"]) ??
        fields.optional<number>([rotaryShareField, "number"]) ??
        rotaryShare ??
        1);
  if (share !== 1 && rotaryShare === undefined)
    throw new UnsupportedError(
      "config",
      "config.json: partial_rotary_factor must be 1 or missing for this model_type, whose published code rotates all of a head",
      { field: "partial_rotary_factor" },
    );
  const angles = (
    from: Fields | undefined,
    name: string,
    base: number,
    scaling: Fields | undefined,
    size = head_dim,
  ) => {
    const rotaryDim = defaults.rotaryDim ?? Math.floor(size * share);
    const alpha = defaults.alpha ? scaling?.optional<number>(["alpha", "number"]) : undefined;
    const growth = alpha ? alpha ** (rotaryDim / (rotaryDim - 2)) : 1;
    return {
      rope_theta: baseOf(from, name, base) * growth,
      rotaryDim,
      ...(layout && { layout }),
      scaling: scalingOf(fields, alpha ? undefined : scaling, { rotaryDim, positions }),
    };
  };
  const full: RotaryConfig = angles(fullParameters, thetaField, theta, scaling, defaults.fullHeadSize);
  const local = parameters?.object("sliding_attention");
  // rope_scaling of a family with separate angles applies to the full layers.
  const sliding = localAngles ? angles(local, localAngles.field, localAngles.theta, local) : full;
  for (const { rope_theta } of [full, sliding])
    if (!(rope_theta > 0)) fields.refuse("rope_theta", "must be a number above 0");
  return (slides) => (slides ? sliding : full);
}

function scalingOf(
  fields: Fields,
  scaling: Fields | undefined,
  { rotaryDim, positions }: RotarySizes,
): AngleScaling {
  if (scaling === undefined) return { rope_type: "default" };
  const name = (scaling.value("rope_type") ?? scaling.value("type") ?? "default") as string;
  const number = (field: string, otherwise?: number) => {
    const value = scaling.one<number>([field, "number"], otherwise);
    return value > 0 ? value : scaling.refuse(field, "must be a number above 0");
  };
  const original = () =>
    number(
      "original_max_position_embeddings",
      fields.optional<number>(["original_max_position_embeddings", "size", 2 ** 26]),
    );
  switch (name) {
    case "default":
    case "dynamic":
      return { rope_type: name };
    case "linear":
      return { rope_type: name, factor: number("factor") };
    case "proportional": {
      const share = number("partial_rotary_factor", 1);
      if (share > 1) scaling.refuse("partial_rotary_factor", "must be at most 1");
      return { rope_type: name, factor: number("factor", 1), pairs: Math.floor((share * rotaryDim) / 2) };
    }
    case "llama3": {
      const [low_freq_factor, high_freq_factor] = [number("low_freq_factor"), number("high_freq_factor")];
      if (!(low_freq_factor < high_freq_factor))
        scaling.refuse("low_freq_factor", `must be below high_freq_factor ${high_freq_factor}`);
      const sizes = { factor: number("factor"), original_max_position_embeddings: original() };
      return { rope_type: name, ...sizes, low_freq_factor, high_freq_factor };
    }
    case "yarn": {
      const original_max_position_embeddings = original();
      const factor = number("factor", positions / original_max_position_embeddings);
      const scaleOf = (weight: number) => (factor <= 1 ? 1 : 0.1 * weight * Math.log(factor) + 1);
      const [one, all] = ["mscale", "mscale_all_dim"].map((field) =>
        scaling.one<number>([field, "number"], 0),
      );
      return {
        rope_type: name,
        factor,
        original_max_position_embeddings,
        attention_factor: number("attention_factor", one && all ? scaleOf(one) / scaleOf(all) : scaleOf(1)),
        beta_fast: number("beta_fast", 32),
        beta_slow: number("beta_slow", 1),
        truncate: scaling.one<boolean>(["truncate", "flag"], true),
      };
    }
    case "longrope":
    case "su": {
      const original_max_position_embeddings = original();
      const factors = (field: string) => {
        const list =
          scaling.list<number>(field, ["", "number"], 2 ** 13) ?? scaling.refuse(field, "is missing");
        if (list.length !== rotaryDim / 2 || list.some((x) => x <= 0))
          scaling.refuse(field, `must be a list of ${rotaryDim / 2} numbers above 0`);
        return list;
      };
      const factor = number("factor", positions / original_max_position_embeddings);
      const plain =
        factor <= 1 ? 1 : Math.sqrt(1 + Math.log(factor) / Math.log(original_max_position_embeddings));
      return {
        rope_type: "longrope",
        short_factor: factors("short_factor"),
        long_factor: factors("long_factor"),
        original_max_position_embeddings,
        attention_factor: number("attention_factor", plain),
      };
    }
    default:
      throw new UnsupportedError(
        "config",
        `config.json: rope_type is ${quote(String(name))}; heed has default, linear, dynamic, llama3, yarn, longrope, proportional`,
        { field: "rope_type" },
      );
  }
}
