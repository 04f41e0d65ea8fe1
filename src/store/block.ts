/** What a store holds: blocks of heads, how one head is named, and the stages of its computation. */
import type { Evidence } from "./formats/stored-evidence.ts";
import type { ScoreRecipe } from "./recipe/recipe.ts";

/** A named range of positions, such as sentence A or the system prompt: `[from, to)`; undefined if it has no queries or no keys. */
export interface Segment {
  readonly name: string;
  readonly query?: readonly [from: number, to: number];
  readonly key?: readonly [from: number, to: number];
}

/** A picture whose patches are keys; in self-attention they are queries too. */
export interface PictureGrid {
  /** Name of the tensor [height, width, 3] uint8 with the picture that the model read; `HeadStore.picture` gives it. */
  readonly tensor: string;
  /** Position of the first patch; the others follow it, row by row. */
  readonly first: number;
  readonly rows: number;
  readonly columns: number;
}

/** Heads that share their tokens, sizes and recipe: an encoder, a decoder, cross attention. */
export interface Block {
  readonly name: string;
  readonly kind: "self" | "cross";
  /** Layer numbers, ascending; some may be missing. */
  readonly layers: readonly number[];
  /** Query heads, and key heads that divide them: query head h reads key head ⌊h / (heads / keyHeads)⌋. */
  readonly heads: number;
  readonly keyHeads: number;
  readonly Nq: number;
  readonly Nk: number;
  /** Size of a query and key vector in the first layer (layers may differ); 0 if the file has weights only. */
  readonly d: number;
  /** Size of a value vector in the first layer; undefined without values. */
  readonly dv?: number;
  /** Names of the heads, if the file has them. */
  readonly headNames?: readonly string[];
  readonly queryTokens: readonly string[];
  readonly keyTokens: readonly string[];
  /** Languages of the tokens as BCP 47 tags such as `ar`, if the file has them. */
  readonly queryLang?: string;
  readonly keyLang?: string;
  /** Query i has the key position i + queryOffset. */
  readonly queryOffset: number;
  readonly segments: readonly Segment[];
  /** Pictures among the keys, if the file has them. */
  readonly pictures?: readonly PictureGrid[];
  /** Which tokens are markers such as [CLS], <s>, padding: [Nq] and [Nk]. */
  readonly special: { readonly query: readonly boolean[]; readonly key: readonly boolean[] };
  readonly recipe: ScoreRecipe;
  /** The tensors that every layer of the block has. */
  readonly has: {
    readonly qk: boolean;
    readonly weights: boolean;
    readonly values: boolean;
    readonly vnorm: boolean;
    readonly wo: boolean;
    readonly lse: boolean;
  };
  /** Numbers of the states that the file has: 0 is the embedding, n the residual stream after n layers. `HeadStore.states` reads them. */
  readonly states: readonly number[];
  /** Results about this text that need the model, each with the command that made it. */
  readonly evidence: readonly Evidence[];
  /** Stages that can be computed, in order. */
  readonly stages: readonly Stage[];
}

/** One head: `layer` is one of `block.layers`. All indices start at 0. */
export interface HeadRef {
  readonly block: number;
  readonly layer: number;
  readonly head: number;
}

/** The heads of a block, by layer; `only`: of one layer, or with one number. `block`: its index in the store. */
export const headsOf = (
  { layers, heads }: Pick<Block, "layers" | "heads">,
  block: number,
  only: { readonly layer?: number; readonly head?: number } = {},
): HeadRef[] =>
  layers
    .flatMap((layer) => Array.from({ length: heads }, (_, head) => ({ block, layer, head })))
    .filter((ref) => ref.layer === (only.layer ?? ref.layer) && ref.head === (only.head ?? ref.head));

/**
 * A stage of one link: from its raw score to what its value adds to the output. `contrast` is the weight minus the mean weight that the
 * other rows give the same key (*others* of `measures/contrast.ts`); 0 where no other row may attend to the key.
 */
export type Stage = "scores" | "scaled" | "masked" | "weights" | "contribution" | "contrast";
