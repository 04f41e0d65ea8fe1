/** The recipe of an encoder of pictures, as data: that of a transformer, and how a picture becomes tokens. */
import type { TransformerConfig } from "../transformer/config.ts";

/** A parameter that is not a linear map: its full name and its shape. */
export interface ImageTable {
  readonly name: string;
  readonly shape: readonly number[];
}

/** Learned tokens before the patches, [..., count, C]. */
export interface ImageTokens extends ImageTable {
  /** What pictures call them: `[CLS]`, `[REG1]`, … */
  readonly labels: readonly string[];
  /** True if the table of positions begins with rows for them. */
  readonly placed: boolean;
}

/** How a picture becomes tokens. */
export interface ImageConfig {
  /** Rows and columns of patches that the positions were learned for. */
  readonly grid: readonly [rows: number, columns: number];
  /** Pixels of a patch. */
  readonly patch: readonly [height: number, width: number];
  readonly channels: number;
  /** The map of a patch has a bias. */
  readonly patch_bias: boolean;
  /** Those with positions first. */
  readonly tokens: readonly ImageTokens[];
  /** Learned positions; for a picture of another size they are resampled, sharply (a = −0.75) or smoothly (antialiased). */
  readonly positions?: ImageTable & { readonly resampling: "sharp" | "smooth" };
  /** Rotary positions by row and by column: the base of their angles. */
  readonly rotary_base?: number;
}

/** The recipe of an encoder of pictures. */
export interface ImageEncoderConfig extends TransformerConfig {
  readonly image: ImageConfig;
}
