/** What a mask says of itself, for files, the command line and pictures; `registry.ts` lists them all. */
import type { Mask } from "./expression/expr.ts";

/** One parameter of a mask. */
export interface MaskParameter {
  readonly name: string;
  readonly type: "integer" | "integers";
  /** The least that each number may be. */
  readonly least: number;
}

/** A mask with a name. */
export interface MaskKind {
  /** Its name in JSON, which is that of its builder. On the command line it is written with hyphens. */
  readonly name: string;
  readonly parameters: readonly MaskParameter[];
  /** One line for `--help`: what it lets a query attend to. */
  readonly about: string;
  /** Builds it from parameters that have been checked. */
  build(parameters: Readonly<Record<string, unknown>>): Mask;
  /** It in a few words, for captions and reports. */
  describe(parameters: Readonly<Record<string, unknown>>): string;
}
