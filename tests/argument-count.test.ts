/**
 * Every public function refuses arguments beyond those in its signature, before any other check: JavaScript would ignore them.
 * The maximum is read from the public surface, so that a new function without the check fails here.
 */
import * as heed from "heed";
import * as cluster from "heed/cluster";
import * as io from "heed/io";
import * as models from "heed/models";
import * as nn from "heed/nn";
import * as history from "heed/nn/history";
import * as reference from "heed/reference";
import * as train from "heed/train";
import * as view from "heed/view";
import * as webgpu from "heed/webgpu";
import { describe, expect, it } from "vitest";
import { formatValue } from "../src/core/errors.ts";
import { surface } from "../tools/site/api.mjs";
import { thrownBy, WRONG_ARGUMENTS } from "./support/wrong-arguments.ts";

const MODULES: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  heed,
  "heed/cluster": cluster,
  "heed/io": io,
  "heed/models": models,
  "heed/nn": nn,
  "heed/nn/history": history,
  "heed/reference": reference,
  "heed/train": train,
  "heed/view": view,
  "heed/webgpu": webgpu,
};
/** The same functions under a second name, and the name in the surface. */
const ALIASES: Readonly<Record<string, string>> = {
  attention: "scaledDotProductAttention",
  div: "divide",
  mul: "multiply",
  take: "takePositions",
  withWeights: "materializeWeights",
};

/** The numbers of parameters of the signatures of a function in the surface; Infinity for a rest parameter. */
function countsOf(lines: readonly string[], name: string): number[] {
  const start = new RegExp(`^  (?:async )?(?:function\\*?|const) ${name}(?= =|[<(])(?: = (?:async )?)?`);
  return lines.flatMap((line) => {
    const head = start.exec(line)?.[0];
    return head === undefined ? [] : [parametersIn(line.slice(head.length).replaceAll("=>", "→"))];
  });
}

/** The number of parameters of `<T>(a, b: [C, D])`. */
function parametersIn(text: string): number {
  let depth = 0;
  let commas = 0;
  let begin = -1;
  for (let i = 0; i < text.length; i++) {
    if (depth === 0 && text[i] === "(") begin = i;
    if ("([{<".includes(text[i])) depth++;
    if (")]}>".includes(text[i])) depth--;
    if (begin >= 0 && depth === 1 && text[i] === ",") commas++;
    if (begin >= 0 && depth === 0) {
      const parameters = text.slice(begin + 1, i);
      return parameters.includes("...") ? Infinity : parameters === "" ? 0 : commas + 1;
    }
  }
  throw new Error(`no parameters in ${text}`);
}

const sections = surface().split(/\n(?=heed)/);
describe.each(Object.entries(MODULES))("%s", (name, module) => {
  const lines = sections.find((section) => section.split(/[ \n]/, 1)[0] === name)?.split("\n") ?? [];
  const functions = Object.entries(module).filter(
    (entry): entry is [string, (...args: unknown[]) => unknown] =>
      typeof entry[1] === "function" && !/^class\b/.test(Function.prototype.toString.call(entry[1])),
  );
  it.each(functions)("%s refuses one argument more than it has", async (id, call) => {
    const declaredName = ALIASES[id] ?? id;
    const counts = countsOf(lines, declaredName).concat(countsOf(sections[0].split("\n"), declaredName));
    expect(counts.length, `signatures of ${id}`).toBeGreaterThan(0);
    const maximum = Math.max(...counts);
    // Outside of a recording `record` does nothing, so that a program without a tape bundles no derivative.
    if (maximum === Infinity || id === "record") return;
    const error = await thrownBy(() => call(...new Array(maximum + 1).fill("x")));
    expect(error).toMatchObject({ name: "OptionError", code: "argument-count" });
    expect(error).toMatchObject({ fields: { maximum, got: maximum + 1 } });
    const exact = await thrownBy(() => call(...new Array(maximum).fill("x")));
    expect(exact).not.toMatchObject({ code: "argument-count" });
  });
});

/** Objects with public methods: each class, and what each function returns. The surface says which methods, and how many arguments. */
const [gpt, x] = [await models.readModel(models.locateShipped("decoder")), heed.ones([2])];
const file = await io.openSafetensors(io.writeSafetensors({ x }));
const ids = Int32Array.of(1, 2, 3);
const spans = [{ start: 0, end: 3 }];
const figure = await view.figureOf([[1]]);
const OBJECTS: Readonly<Record<string, object>> = {
  NumberExpression: heed.softcap(1).expr,
  BoolExpression: heed.causal(),
  Generator: new nn.Generator(),
  Tensor: x,
  Linear: new nn.Linear(2, 2),
  Module: new nn.Linear(2, 2),
  LayerNorm: new nn.LayerNorm(2),
  RMSNorm: new nn.RMSNorm(2),
  Embedding: new nn.Embedding(2, 2),
  LearnedPositions: new nn.LearnedPositions(2, 2),
  SinusoidalPositions: new nn.SinusoidalPositions(2),
  Rope: new nn.Rope(),
  MLP: new nn.MLP(2),
  SwiGLU: new nn.SwiGLU(2),
  MultiHeadAttention: new nn.MultiHeadAttention(2, 1),
  SelfAttention: new nn.SelfAttention(2),
  EncoderBlock: new nn.EncoderBlock(2, 1),
  DecoderBlock: new nn.DecoderBlock(2, 1),
  GRU: new history.GRU(2, 2),
  GRUCell: new history.GRUCell(2, 2),
  AdditiveAttention: new history.AdditiveAttention(2, 2, 2),
  LuongAttention: new history.LuongAttention(2, 2),
  LinearAttention: new history.LinearAttention(2, 1),
  PerformerAttention: new history.PerformerAttention(2, 1),
  RecurrentEncoderDecoder: new history.RecurrentEncoderDecoder({ sourceWords: 2, targetWords: 2 }),
  TransformerModel: gpt.model,
  DecoderModel: gpt.model,
  Gpt2: gpt.model,
  KeyValueCache: (gpt.model as models.Gpt2).cache(),
  AttentionModel: gpt,
  TextModel: gpt,
  Tokenizer: gpt.tokenizer,
  TextStream: gpt.tokenizer.stream(),
  Optimizer: new train.SGD([x]),
  AdamW: new train.AdamW([x]),
  Tape: new train.Tape(),
  Windows: new train.Windows(ids, spans, { window: 2, seed: 1 }),
  Ngram: new train.Ngram(1, 4, ids, spans),
  SafetensorsFile: file,
  NpzFile: io.openNpz(await io.writeNpz({ x })),
  PngWriter: io.writePng(1, 1),
  HeadStore: view.storeFromModel(gpt.attention("the old ship sailed")),
  Plot: view.bars([1]),
  DrawnFigure: figure,
  AttentionPicture: await view.show([[1]]),
  Checkpoint: train.readCheckpoint(
    await train.writeCheckpoint(
      new Map([["x", x]]),
      new train.SGD([x]),
      { step: 0, losses: [], heldOut: [] },
      "",
    ),
  ),
  Communicator: (await cluster.localCluster(1, (comm) => comm))[0],
  MaskKind: heed.causal.kind,
  ShardPlan: cluster.shardSequence({ length: 4, ranks: 2 }),
};

/** The members of a class or interface of the surface that are methods. */
function methodsOf(kind: string): [name: string, maximum: number][] {
  const members = sections.flatMap((section) => {
    const [, body] =
      new RegExp(`\n  (?:abstract )?(?:class|interface) ${kind}\\b.*((?:\n    .*)*)`).exec(section) ?? [];
    return body?.split("\n") ?? [];
  });
  const counts = new Map<string, number>();
  for (const line of members) {
    const [head, name] = /^ {4}(?:async |override )*(\w+)(?=[<(])/.exec(line) ?? [];
    if (head && name)
      counts.set(name, Math.max(counts.get(name) ?? 0, parametersIn(line.slice(head.length))));
  }
  // JSON.stringify passes the key to toJSON.
  return [...counts].filter(([name, maximum]) => maximum !== Infinity && name !== "toJSON");
}

const METHODS = Object.entries(OBJECTS).flatMap(([kind, object]) =>
  methodsOf(kind).map(([method, maximum]) => [`${kind}.${method}`, { method, maximum, object }] as const),
);
it.each(METHODS)("%s refuses one argument more than it has", async (_, { object, method, maximum }) => {
  const call =
    method === "constructor"
      ? (...args: unknown[]) => Reflect.construct(object.constructor, args)
      : (...args: unknown[]) => Reflect.get(object, method).apply(object, args);
  const error = await thrownBy(() => call(...new Array(maximum + 1).fill("x")));
  expect(error).toMatchObject({ name: "OptionError", code: "argument-count", fields: { maximum } });
  expect(await thrownBy(() => call(...new Array(maximum).fill("x")))).not.toMatchObject({
    code: "argument-count",
  });
});

it.each(METHODS.filter(([, { method }]) => method !== "close" && method !== "dispose"))(
  "%s: wrong arguments give a result or a HeedError, never another error",
  async (_, { object, method }) => {
    if (method === "constructor") return;
    const untyped: string[] = [];
    for (const list of WRONG_ARGUMENTS) {
      const error = await thrownBy(() => Reflect.get(object, method).apply(object, list));
      if (error !== undefined && !(error instanceof heed.HeedError))
        untyped.push(`${list.map(formatValue).join()}: ${error}`);
    }
    expect(untyped).toEqual([]);
  },
);

it("list.map(f) calls a function of one argument, though Array.map adds the index and the list", () => {
  const list = [heed.ones([2]), heed.zeros([2])];
  expect(list.map(nn.exp).map((y) => y.shape)).toEqual([[2], [2]]);
  // The index would be the axis.
  expect(() => list.map(nn.softmax as never)).toThrow(/softmax: expected at most 2 arguments, got 3/);
});

it("undefined in a place that a function does not have is no argument", () => {
  expect((nn.exp as (...args: unknown[]) => heed.Tensor)(heed.zeros([1]), undefined).toArray()).toEqual([1]);
});
