/**
 * The description of a named mask, for files, the command line and figures. It is the property `kind` of the mask's builder;
 * `registry.ts` collects the kinds of all builders that `index.ts` exports.
 */
import { checkMethods } from "../core/errors.ts";
import type { Mask } from "./expression/expr.ts";

/** One parameter of a mask. */
export interface MaskParameter {
  readonly name: string;
  readonly type: "integer" | "integers";
  /** The minimum of each number. */
  readonly least: number;
}

/** A named mask. */
export interface MaskKind {
  /** Its name in JSON: the name of its builder. */
  readonly name: string;
  readonly parameters: readonly MaskParameter[];
  /** One line for `--help`: the keys a query may attend to. */
  readonly about: string;
  /** Builds the mask from validated parameters. */
  build(parameters: Readonly<Record<string, unknown>>): Mask;
  /** A short description for captions and reports. */
  describe(parameters: Readonly<Record<string, unknown>>): string;
}

/** Returns `kind`, typed: `causal.kind = maskKind({ … })`. */
export const maskKind = (kind: MaskKind): MaskKind =>
  checkMethods("MaskKind", kind, { build: 1, describe: 1 });
