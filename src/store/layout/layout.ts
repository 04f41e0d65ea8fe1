/**
 * Lays out named tensors as blocks: finds their layers, tokens and the tensors of their recipes, and checks the shapes. Parts
 * that do not fit are left out and reported with the tensor's name, the expected and the actual shape, and the remedy.
 */
// long: the tensors of a block and of its recipe are found and checked in one place
import { isFloat } from "../../core/dtype.ts";
import { tablesOf } from "../../masks/expression/expr.ts";
import { maskFromJson } from "../../masks/registry.ts";
import type { Block, Stage } from "../block.ts";
import { type About, type Problems, readAbout } from "../formats/metadata.ts";
import { type Bag, shown, type TensorHead } from "../formats/tensor-source.ts";
import { laterPlacesOf, type Places } from "../measures/measures.ts";
import { type LayerRecipe, recipeOfLayer, type ScoreRecipe } from "../recipe/recipe.ts";
import { isSpecial } from "../text/tokens.ts";
import { picturesOf, rowsProblem, segmentsOf } from "./ranges.ts";
import { evidenceOf, statesOf } from "./results.ts";

/** The kind of a layer's tensor. */
export type TensorPart = "q" | "k" | "w" | "v" | "vnorm" | "wo" | "lse";

/** One layer of a bag: its recipe and the names of its tensors. */
export interface Layer {
  readonly recipe: LayerRecipe;
  readonly parts: Readonly<Partial<Record<TensorPart, string>>>;
  /** Names of the tensors that the recipe reads. */
  readonly mask?: string;
  readonly bias?: string;
  readonly table?: string;
  readonly positionKeys?: string;
  readonly positionQueries?: string;
  readonly sinks?: string;
}

/** A block with its layers and token positions. */
export interface Laid {
  readonly block: Block;
  /** Computed by the first call. */
  readonly places: () => Places;
  readonly layers: ReadonlyMap<number, Layer>;
  /** Names of the tensors with the states, by the number of layers before them. */
  readonly states: ReadonlyMap<number, string>;
}

const STATE = /^(.+)\.state\.(\d{1,6})$/s;
const NAME = /^(.+)\.(q|k|w|v|vnorm|wo|lse)\.(\d{1,6})$/s;
/** Tensors that only recipes refer to. */
const AUXILIARY = /\.(?:mask|bias|sinks|relative|positionKeys|positionQueries|picture)(?:\.\d{1,6})?$/;

/** Lays out a bag; `given` is the recipe of blocks with q and k but without a recipe. */
export function layOut(
  bag: Bag,
  problems: Problems,
  defaultRecipe?: ScoreRecipe,
): { blocks: Laid[]; about: About } {
  const about = readAbout(bag.metadata, problems);
  const tensors = new Map<string, Map<number, Partial<Record<TensorPart, string>>>>();
  const states = new Map<string, Map<number, string>>();
  for (const name of bag.tensors.keys()) {
    const state = STATE.exec(name);
    if (state) {
      const [, block, number] = state;
      const ofBlock = states.get(block) ?? states.set(block, new Map()).get(block)!;
      ofBlock.set(Number(number), name);
      continue;
    }
    const match = NAME.exec(name);
    if (!match) {
      if (!AUXILIARY.test(name) && !isNamed(name, about))
        problems.add(
          "note",
          "tensor-ignored",
          `\`${name}\` is not recognized and is left out; parts of a block are named BLOCK.q.0, BLOCK.k.0, BLOCK.w.0 …`,
        );
      continue;
    }
    const [, block, part, number] = match;
    const layers = tensors.get(block) ?? tensors.set(block, new Map()).get(block)!;
    const layer = Number(number);
    const parts = layers.get(layer) ?? layers.set(layer, {}).get(layer)!;
    parts[part as TensorPart] = name;
  }
  const blocks: Laid[] = [];
  for (const [name, layers] of tensors) {
    const laid = layBlock(bag, name, { layers, states: states.get(name) }, about, problems, defaultRecipe);
    if (laid) blocks.push(laid);
  }
  // Files list tensors alphabetically; blocks are shown in the order encoder, others, cross-attention.
  blocks.sort((a, b) => orderOf(a.block) - orderOf(b.block));
  return { blocks, about };
}

const orderOf = ({ name }: Block): number => (/^enc/i.test(name) ? 0 : /cross/i.test(name) ? 2 : 1);

function isNamed(name: string, about: About): boolean {
  const base = name.replace(/\.\d+$/, "");
  return [...about.recipes.values()].some((recipe) => {
    const text = JSON.stringify(recipe);
    return text.includes(JSON.stringify(name)) || text.includes(JSON.stringify(base));
  });
}

/** Sizes of a layer; all but d and dv are those of its block. */
interface Sizes {
  readonly heads: number;
  readonly keyHeads: number;
  readonly Nq: number;
  readonly Nk: number;
  readonly d: number;
  readonly dv: number | undefined;
}

function layBlock(
  bag: Bag,
  name: string,
  names: {
    readonly layers: ReadonlyMap<number, Partial<Record<TensorPart, string>>>;
    readonly states?: ReadonlyMap<number, string>;
  },
  about: About,
  problems: Problems,
  defaultRecipe?: ScoreRecipe,
): Laid | undefined {
  const { layers: tensors } = names;
  const badRecipe = about.badRecipes.get(name);
  const fileRecipe = about.recipes.get(name);
  const hasScores = [...tensors.values()].some(({ q, k }) => q !== undefined && k !== undefined);
  if (defaultRecipe !== undefined && (fileRecipe !== undefined || !hasScores))
    problems.add(
      "warning",
      "recipe-given",
      fileRecipe === undefined
        ? `\`${name}\` holds weights, which are shown as they are; the given recipe is not used`
        : `\`${name}\` has a recipe; the given one is not used`,
    );
  const recipe: ScoreRecipe = fileRecipe ?? (hasScores ? defaultRecipe : undefined) ?? {};
  let sizes: Sizes | undefined;
  const layers = new Map<number, Layer>();
  for (const layer of [...tensors.keys()].sort((a, b) => a - b)) {
    let parts = { ...tensors.get(layer)! };
    if (badRecipe !== undefined && parts.q && parts.k) {
      if (!parts.w) {
        problems.add("error", "recipe", `layer ${layer} of \`${name}\` is left out: ${badRecipe}`);
        continue;
      }
      problems.add(
        "warning",
        "recipe",
        `layer ${layer} of \`${name}\` shows the weights it was given, because ${badRecipe}`,
      );
      parts = { ...parts, q: undefined, k: undefined };
    }
    const layerSizes = sizesOf(bag, name, layer, parts, problems);
    if (!layerSizes) continue;
    const clash = sizes && disagreement(sizes, layerSizes);
    if (clash) {
      problems.add(
        "error",
        "layer-shape",
        `layer ${layer} of \`${name}\` is left out: it has ${clash}; put layers of another shape into another block`,
      );
      continue;
    }
    const resolved = resolve(bag, name, layer, recipeOfLayer(recipe, layer), layerSizes, problems);
    if (!resolved) continue;
    sizes ??= layerSizes;
    layers.set(layer, { ...resolved, parts });
  }
  if (!sizes || layers.size === 0) return undefined;
  const states = statesOf(bag, name, names.states, sizes.Nq, problems);
  const pictures = picturesOf(bag, name, about.blocks.get(name)?.pictures ?? [], sizes.Nk, problems);
  const block = {
    ...describe(name, sizes, { layers, states }, recipe, about, problems),
    ...(pictures.length > 0 && { pictures }),
  };
  return { block, places: laterPlacesOf(block), layers, states };
}

/** The size in which a layer differs from the layers before. Vector sizes may differ, because they are never used across layers. */
function disagreement(a: Sizes, b: Sizes): string | undefined {
  const names = { heads: "heads", keyHeads: "key heads", Nq: "queries", Nk: "keys" } as const;
  for (const key of Object.keys(names) as (keyof typeof names)[])
    if (a[key] !== b[key]) return `${b[key]} ${names[key]} where the layers before have ${a[key]}`;
  return undefined;
}

/** The sizes of one layer, or undefined if its tensors do not fit each other. */
function sizesOf(
  bag: Bag,
  name: string,
  layer: number,
  parts: Partial<Record<TensorPart, string>>,
  problems: Problems,
): Sizes | undefined {
  const fail = (text: string): undefined => {
    problems.add("error", "layer-shape", `layer ${layer} of \`${name}\` is left out: ${text}`);
    return undefined;
  };
  const head = (part: TensorPart): TensorHead | undefined =>
    parts[part] === undefined ? undefined : bag.tensors.get(parts[part]!);
  const [q, k, w, v, vnorm, wo, lse] = (["q", "k", "w", "v", "vnorm", "wo", "lse"] as const).map(head);
  for (const part of ["q", "k", "v", "vnorm", "wo", "lse"] as const) {
    const t = head(part);
    if (t && !isFloat(t.dtype))
      return fail(`\`${parts[part]}\` is ${shown(t)}, expected float32, float16, bfloat16 or float64`);
  }
  if ((q === undefined) !== (k === undefined))
    return fail(
      `\`${name}.${q ? "q" : "k"}.${layer}\` is present, but \`${name}.${q ? "k" : "q"}.${layer}\` is missing; scores need both`,
    );
  let sizes: Sizes;
  if (q && k) {
    if (q.shape.length !== 3) return fail(`\`${parts.q}\` is ${shown(q)}, expected [heads, queries, d]`);
    if (k.shape.length !== 3) return fail(`\`${parts.k}\` is ${shown(k)}, expected [key heads, keys, d]`);
    if (q.shape[2] !== k.shape[2])
      return fail(
        `\`${parts.q}\` is ${shown(q)} and \`${parts.k}\` ${shown(k)}: their last axes must be equal`,
      );
    if (!divides(k.shape[0], q.shape[0]))
      return fail(`${k.shape[0]} heads of \`${parts.k}\` do not divide the ${q.shape[0]} of \`${parts.q}\``);
    const [[heads, Nq, d], [keyHeads, Nk]] = [q.shape, k.shape];
    sizes = { heads, keyHeads, Nq, Nk, d, dv: undefined };
    if (w)
      problems.add(
        "note",
        "both",
        `\`${parts.w}\` is given besides q and k; the weights shown are computed from q and k`,
      );
  } else if (w) {
    if (w.shape.length !== 3) return fail(`\`${parts.w}\` is ${shown(w)}, expected [heads, queries, keys]`);
    if (!isFloat(w.dtype) && w.dtype !== "uint8")
      return fail(`\`${parts.w}\` is ${shown(w)}, expected floats, or uint8 (n/255)`);
    const shared = v?.shape[0] ?? vnorm?.shape[0] ?? w.shape[0];
    sizes = { heads: w.shape[0], keyHeads: shared, Nq: w.shape[1], Nk: w.shape[2], d: 0, dv: undefined };
    if (!divides(shared, w.shape[0]))
      return fail(`${shared} heads of values do not divide the ${w.shape[0]} of \`${parts.w}\``);
  } else return fail(`it needs \`${name}.q.${layer}\` and \`${name}.k.${layer}\`, or \`${name}.w.${layer}\``);
  if (sizes.heads === 0) return fail("it has no heads");

  const { heads, keyHeads, Nq, Nk } = sizes;
  if (v) {
    if (v.shape.length !== 3 || v.shape[0] !== keyHeads || v.shape[1] !== Nk)
      return fail(`\`${parts.v}\` is ${shown(v)}, expected [${keyHeads}, ${Nk}, dv]`);
    sizes = { ...sizes, dv: v.shape[2] };
  }
  if (
    vnorm &&
    !(vnorm.shape.length === 2 && [keyHeads, heads].includes(vnorm.shape[0]) && vnorm.shape[1] === Nk)
  )
    return fail(`\`${parts.vnorm}\` is ${shown(vnorm)}, expected [${keyHeads}, ${Nk}]`);
  if (wo && (!v || wo.shape.length !== 2 || wo.shape[0] !== heads * v.shape[2]))
    return fail(
      `\`${parts.wo}\` is ${shown(wo)}, expected [heads·dv = ${v ? heads * v.shape[2] : "?"}, width]${v ? "" : " beside values"}`,
    );
  if (lse && !(lse.shape.length === 2 && lse.shape[0] === heads && lse.shape[1] === Nq))
    return fail(`\`${parts.lse}\` is ${shown(lse)}, expected [${heads}, ${Nq}]`);
  return sizes;
}

const divides = (few: number, many: number) => (few === 0 ? many === 0 : many % few === 0);

/** Finds and checks the tensors that a layer's recipe reads. */
function resolve(
  bag: Bag,
  block: string,
  layer: number,
  recipe: LayerRecipe,
  sizes: Sizes,
  problems: Problems,
): Omit<Layer, "parts"> | undefined {
  const { heads, Nq, Nk, d } = sizes;
  let failed = false;
  const fail = (text: string): undefined => {
    problems.add("error", "recipe-tensor", `layer ${layer} of \`${block}\` is left out: ${text}`);
    failed = true;
    return undefined;
  };
  const find = (
    name: string,
    shapes: readonly (readonly number[])[],
    floats: boolean,
  ): string | undefined => {
    const match = [`${name}.${layer}`, name].find((one) => bag.tensors.has(one));
    if (match === undefined) return fail(`its recipe reads the tensor \`${name}\`, which is not in the file`);
    const t = bag.tensors.get(match)!;
    const fits = shapes.some(
      (shape) =>
        shape.length === t.shape.length &&
        shape.every((n, i) => n === t.shape[i] || (n === -1 && t.shape[i] > 0)),
    );
    if (!fits)
      return fail(
        `\`${match}\` is ${shown(t)}, expected ${shapes.map((s) => `[${s.map((n) => (n < 0 ? "buckets" : n)).join(", ")}]`).join(" or ")}`,
      );
    if (floats && !isFloat(t.dtype)) return fail(`\`${match}\` is ${shown(t)}, expected floats`);
    return match;
  };
  const cells = [Nq, Nk];
  const { mask, bias, sinks, keyLengths } = recipe;
  const terms = bias && "disentangled" in bias ? bias.disentangled : undefined;
  const tensors = {
    mask:
      typeof mask === "object" && "tensor" in mask
        ? find(mask.tensor, [cells, [heads, ...cells]], false)
        : undefined,
    bias: bias && "dense" in bias ? find(bias.dense, [cells, [heads, ...cells]], true) : undefined,
    table: bias && "relative" in bias ? find(bias.relative, [[-1, heads]], true) : undefined,
    ...(terms?.keys !== undefined && { positionKeys: find(terms.keys, [[heads, -1, d]], true) }),
    ...(terms?.queries !== undefined && { positionQueries: find(terms.queries, [[heads, -1, d]], true) }),
    sinks: sinks === undefined ? undefined : find(sinks, [[heads]], true),
  };
  // A documents mask has one id per position; other masks apply to any length.
  if (typeof mask === "object" && "named" in mask)
    for (const { name, shape } of tablesOf(maskFromJson(mask.named)))
      if (name === "documents" && shape[0] !== Nk)
        fail(`its mask has documents for ${shape[0]} positions, but there are ${Nk} keys`);
  const wrongRows =
    terms && rowsProblem(bag, terms.rows, [tensors.positionKeys, tensors.positionQueries], Nq, Nk);
  if (wrongRows) fail(wrongRows);
  if (bias && "alibi" in bias && bias.alibi.length !== heads)
    fail(`its recipe has ${bias.alibi.length} ALiBi slopes for ${heads} heads`);
  if (typeof keyLengths === "object" && keyLengths.length !== 1 && keyLengths.length !== heads)
    fail(`its recipe has ${keyLengths.length} keyLengths for ${heads} heads; give one, or one per head`);
  return failed ? undefined : { recipe, ...tensors };
}

/** The block as a store shows it. */
function describe(
  name: string,
  sizes: Sizes,
  { layers, states }: Pick<Laid, "layers" | "states">,
  recipe: ScoreRecipe,
  about: About,
  problems: Problems,
): Block {
  const entry = about.blocks.get(name) ?? {};
  const { heads, keyHeads, Nq, Nk, d, dv } = sizes;
  const every = (part: TensorPart) => [...layers.values()].every(({ parts }) => parts[part] !== undefined);
  const only = about.tokens.size === 1 ? [...about.tokens.keys()][0] : undefined;
  const usualList = about.tokens.has(name) ? name : only;
  const queryList = entry.queryTokens ?? usualList;
  const keyList = entry.keyTokens ?? entry.queryTokens ?? usualList;
  const kind = entry.kind ?? (queryList !== keyList || /cross/i.test(name) ? "cross" : "self");
  const queryOffset = recipe.queryOffset ?? entry.queryOffset ?? 0;
  if (
    recipe.queryOffset !== undefined &&
    entry.queryOffset !== undefined &&
    recipe.queryOffset !== entry.queryOffset
  )
    problems.add(
      "warning",
      "offset",
      `\`${name}\`: queryOffset is ${entry.queryOffset} in blocks and ${recipe.queryOffset} in the recipe; the recipe's is used`,
    );
  else if (
    kind === "self" &&
    Nq !== Nk &&
    recipe.queryOffset === undefined &&
    entry.queryOffset === undefined
  )
    problems.add(
      "warning",
      "offset",
      `\`${name}\` has ${Nq} queries for ${Nk} keys and no queryOffset; query 0 is assumed to have position 0`,
    );

  const keyTokens = tokensFor(name, "key", Nk, keyList, about, problems);
  const slice =
    queryList === keyList && Nq !== Nk && queryOffset >= 0 && queryOffset + Nq <= keyTokens.length;
  const queryTokens = slice
    ? keyTokens.slice(queryOffset, queryOffset + Nq)
    : tokensFor(
        name,
        "query",
        Nq,
        queryList,
        about,
        queryList === keyList && Nq === Nk ? undefined : problems,
      );
  // Positions shown in place of tokens have no language.
  const langOf = (list: string | undefined, tokens: readonly string[]) =>
    list !== undefined && about.tokens.get(list) === tokens
      ? (about.langs.get(list) ?? about.lang)
      : undefined;
  const keyLang = langOf(keyList, keyTokens);
  const has = {
    qk: every("q"),
    weights: every("w"),
    values: every("v"),
    vnorm: every("vnorm"),
    wo: every("wo"),
    lse: every("lse"),
  };
  const stages: Stage[] = has.qk ? ["scores", "scaled", "masked", "weights"] : ["weights"];
  if (has.values || has.vnorm) stages.push("contribution");
  stages.push("contrast");
  return {
    name,
    kind,
    layers: [...layers.keys()],
    heads,
    keyHeads,
    Nq,
    Nk,
    d,
    dv,
    headNames: entry.headNames?.length === heads ? entry.headNames : undefined,
    queryTokens,
    keyTokens,
    queryLang: slice ? keyLang : langOf(queryList, queryTokens),
    keyLang,
    queryOffset,
    segments: segmentsOf(name, entry.segments ?? [], Nq, Nk, problems),
    special: { query: marked(queryTokens, entry.special?.query), key: marked(keyTokens, entry.special?.key) },
    recipe,
    has,
    states: [...states.keys()],
    evidence: evidenceOf(name, Math.min(Nq, Nk), about, problems),
    stages,
  };
}

function marked(tokens: readonly string[], positions: readonly number[] | undefined): boolean[] {
  if (!positions) return tokens.map(isSpecial);
  const set = new Set(positions);
  return tokens.map((_, n) => set.has(n));
}

/** The tokens of the queries or of the keys, or their positions if there is no list of the right length. */
function tokensFor(
  block: string,
  axis: "query" | "key",
  count: number,
  list: string | undefined,
  about: About,
  problems: Problems | undefined,
): readonly string[] {
  const positions = () => Array.from({ length: count }, (_, n) => String(n));
  const tokens = list === undefined ? undefined : about.tokens.get(list);
  if (tokens?.length === count) return tokens;
  if (list === undefined)
    problems?.add(
      "note",
      "tokens",
      `\`${block}\` has no ${axis} tokens: positions are shown. Give them with --tokens tokens.json, or as the option tokens`,
    );
  else if (tokens === undefined)
    problems?.add(
      "warning",
      "tokens",
      `\`${block}\` names the token list \`${list}\`, which is not in the file; positions are shown instead`,
    );
  else
    problems?.add(
      "warning",
      "tokens",
      `\`${block}\` has ${count} ${axis} positions, ${tokens.length} tokens are given in \`tokens.${list}\`; positions are shown instead, so that no row has the wrong name`,
    );
  return positions();
}
