/**
 * What a word becomes: cosines between states of "flies" in two sentences, and with six other words, after each layer of a trained
 * encoder, with one of its heads at five strengths. All cosines of a layer are one matrix product of vectors of length 1.
 */
import { roundScore } from "../frame/words.ts";
import { NEIGHBORS, RISES, STATES, STRENGTHS } from "./captures.ts";
import { type ContextNumbers, contextOf } from "./shares.ts";
import { cosines } from "./vectors.ts";

/** What a reader changes. */
export type Becomes = {
  /** How many layers have run: 0, the embedding, to 6. */
  readonly layer: number;
  /** The output of layer 0, head 4, in quarters of its size. */
  readonly quarters: number;
  /** "shares", "path" through the layers, or "layer": the steps of one layer. */
  readonly shown: string;
  /** The reader's shares of the eight tokens, in percent; none for the model's own. */
  readonly shares: readonly number[];
  /** The word that goes through the layer, 0 to 3, and the seed of its numbers and parameters. */
  readonly word: number;
  readonly seed: number;
};

/** The path of the word at one strength of the head; [7] a layer each, the embedding first. */
export interface Path {
  /** Cosine of the two states. */
  readonly apart: readonly number[];
  /** Cosines with the six words: [sentence][layer][word]. */
  readonly near: readonly (readonly (readonly number[])[])[];
}

/** What the picture shows. */
export interface BecomesNumbers {
  readonly words: readonly string[];
  /** At the chosen strength, and with all of the head. */
  readonly path: Path;
  readonly full: Path;
  /** By how much the last cosine rises with one head off: [6][12]. */
  readonly rises: readonly (readonly number[])[];
  /** The two states after the chosen layer, in the plane that they span, rounded as the listings have them; and their cosine. */
  readonly pair: readonly (readonly number[])[];
  readonly rounded: number;
  /** The steps of a layer, [9][4][8]; empty where they are not shown. */
  readonly steps: readonly (readonly (readonly number[])[])[];
  /** x + a and y + m of the word as the listings have them, and the norm of each. */
  readonly sums: readonly (readonly number[])[];
  readonly norms: readonly (readonly number[])[];
  /** The context vector, where it is shown. */
  readonly context?: ContextNumbers;
}

const FIRST_WORD = 2 * STRENGTHS.length;
const layers = STATES.map(cosines);

/** The path at a strength of the head, by its place in STRENGTHS. */
function pathOf(strength: number): Path {
  const places = [2 * strength, 2 * strength + 1];
  return {
    apart: layers.map((all) => all[places[0]][places[1]]),
    near: places.map((at) => layers.map((all) => all[at].slice(FIRST_WORD))),
  };
}

/** Two vectors in the plane that they span, the first along its axis: lengths and angle are those of the vectors. */
function planeOf(a: readonly number[], b: readonly number[]): number[][] {
  const length = Math.hypot(...a);
  const along = a.reduce((sum, x, i) => sum + x * (b[i] ?? 0), 0) / length;
  const across = Math.hypot(...b.map((x, i) => x - (along * (a[i] ?? 0)) / length));
  return [
    [length, 0],
    [along, across],
  ].map((vector) => vector.map(roundScore));
}

/** The numbers of the paths. */
export function pathNumbers({ layer, quarters }: Pick<Becomes, "layer" | "quarters">): BecomesNumbers {
  const strength = STRENGTHS.indexOf((quarters / 4) as (typeof STRENGTHS)[number]);
  const pair = planeOf(STATES[layer][2 * strength], STATES[layer][2 * strength + 1]);
  return {
    words: NEIGHBORS.map(([word]) => word),
    path: pathOf(strength),
    full: pathOf(0),
    rises: RISES,
    pair,
    rounded: cosines(pair)[0][1],
    steps: [],
    sums: [],
    norms: [],
  };
}

/** The numbers of a state. */
export async function compute(state: Becomes): Promise<BecomesNumbers> {
  const numbers = pathNumbers(state);
  if (state.shown === "path") return numbers;
  if (state.shown === "shares") return { ...numbers, context: contextOf(state.shares) };
  // Its modules are loaded when it is shown.
  const { layerOf, normOf } = await import("./layer.ts");
  const steps = layerOf(state.seed);
  const sums = [4, 7].map((step) => steps[step][state.word].map(roundScore));
  return { ...numbers, steps, sums, norms: sums.map(normOf) };
}
