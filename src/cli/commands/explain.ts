/** `heed explain`: prints the plan of a call without running it. */

import { explain, explainMatmul } from "../../api/explain.ts";
import type { AttentionOptions, Problem } from "../../backend/problem.ts";
import { type ContextPlan, explainContext } from "../../cluster/index.ts";
import { OptionError } from "../../core/errors.ts";
import type { Tensor } from "../../core/tensor.ts";
import {
  dtypeOption,
  emptyTensor,
  INPUT_HELP,
  readInputs,
  SHAPE_HELP,
  shapedInputs,
} from "../support/input/inputs.ts";
import { type Command, EXIT, type Io, UsageError, type Values } from "../support/line/command.ts";
import { integer, oneOf, shape } from "../support/line/values.ts";
import { save } from "../support/output/interrupt.ts";
import { checkPlace, outputOf } from "../support/output/output.ts";
import { jsonText, printJson, shapeText } from "../support/output/terminal.ts";
import { shardFigure } from "../support/ranks/shard-figure.ts";
import { CALL_HELP, CALL_OPTIONAL, optionsOf, readCall } from "../support/run/attention-options.ts";
import { flopsOf, problemOf } from "../support/run/chunked-run.ts";
import { ENGINE_HELP } from "../support/run/engine.ts";

/** The plan of ranks that share the sequence, also written as a figure if a file is named. */
async function sharedPlan(
  values: Values,
  problem: Problem,
  operands: readonly Tensor[],
  options: AttentionOptions,
  pass: "forward" | "backward",
): Promise<ContextPlan> {
  const ranks = integer("ranks", values.ranks, 1, 2 ** 16);
  const cost = oneOf("cost", values.cost ?? "tiles", ["tiles", "tokens"] as const);
  const via = oneOf("via", values.via ?? "auto", ["auto", "gather", "ring", "resident"] as const);
  for (const name of ["query-offset", "key-offset"])
    if (values[name] !== undefined)
      throw new UsageError(`--${name} does not go with --ranks: positions are those of the sequence`);
  const { Nq, Nk } = problem.shape;
  if (Nq !== Nk)
    throw new OptionError("ranks", `--ranks shares a sequence with itself; got ${Nq} queries and ${Nk} keys`);
  const { isCausal, ...call } = options;
  const [query, key, value] = operands;
  const plan = explainContext(ranks, query, key, value, {
    ...call,
    isCausal: isCausal !== undefined && isCausal !== false,
    cost,
    via,
    pass,
  });
  const output = outputOf(values, ".svg");
  if (output !== undefined) {
    await checkPlace(output);
    await save(output, new TextEncoder().encode(shardFigure(plan.shards, problem)));
  }
  return plan;
}

/** The plan of ranks as JSON. */
function sharedFacts({ shards, via, tiles, shares, bytes, slowest }: ContextPlan): object {
  const ranges = Array.from({ length: shards.ranks }, (_, rank) => shards.ranges(rank));
  return { kind: shards.kind, ranges, tiles, shares, imbalance: shards.imbalance, via, bytes, slowest };
}

/** Options of a matrix product, and all options that may be given with them. */
const PRODUCT = ["a-shape", "b-shape", "transpose-a", "transpose-b"];
const WITH_PRODUCT = [...PRODUCT, ...Object.keys(ENGINE_HELP), "dtype", "json"];

/** Prints the plan of a matrix product; undefined if the options are not of one. */
function explainProduct(values: Values, positionals: readonly string[], io: Io): number | undefined {
  const option = PRODUCT.find((name) => values[name] !== undefined);
  if (option === undefined) return undefined;
  for (const name of ["a-shape", "b-shape"])
    if (values[name] === undefined)
      throw new UsageError(`--${option} is of a matrix product: give --${name} too`);
  if (positionals.length > 0)
    throw new UsageError(`--${option} replaces files; got ${positionals[0]} as well`);
  const other = Object.keys(values).find(
    (name) => values[name] !== undefined && !WITH_PRODUCT.includes(name),
  );
  if (other !== undefined)
    throw new UsageError(`--${other} does not go with --${option}: it is of attention`);
  const dtype = dtypeOption(values);
  const [a, b] = ["a-shape", "b-shape"].map((name) => emptyTensor(shape(name, values[name]), dtype));
  const plan = explainMatmul(a, b, {
    transposeA: values["transpose-a"] === true,
    transposeB: values["transpose-b"] === true,
  });
  const operand = (t: Tensor) => ({ shape: t.shape, dtype: t.dtype });
  if (values.json) io.stdout.write(jsonText({ a: operand(a), b: operand(b), plan }));
  else io.stdout.write(`${operandLines({ a, b })}\n${plan}\n`);
  return EXIT.ok;
}

const operandLines = (operands: Readonly<Record<string, Tensor>>): string =>
  Object.entries(operands)
    .map(([name, t]) => `${name.padEnd(8)}${shapeText(t.shape)} ${t.dtype}`)
    .join("\n");

export const command: Command = {
  name: "explain",
  summary: "print how a call would run, without running it",
  usage: `heed explain --shape B,H,N,d [OPTIONS]
    heed explain FILE [OPTIONS]
    heed explain QUERY.npy KEY.npy VALUE.npy [OPTIONS]
    heed explain --a-shape M,K --b-shape K,N [OPTIONS]`,
  help: {
    ...SHAPE_HELP,
    ...INPUT_HELP,
    ...CALL_HELP,
    ...ENGINE_HELP,
    backward: "explain the backward pass",
    ranks: "N  also how N machines would share the sequence (docs/09-cluster.md)",
    cost: "UNIT  tiles (default; those the mask makes visible) or tokens; the unit to split equally among ranks",
    via: "METHOD  gather, ring, resident or auto (default); with --ranks",
    "a-shape": "M,K  a matrix product in place of attention: the shape of a, batch axes first",
    "b-shape": "K,N  the shape of b",
    "transpose-a": "a has shape K,M",
    "transpose-b": "b has shape N,K, as PyTorch stores linear weights",
    output: "PLAN.svg  with --ranks: the shares as a figure",
    json: "the plan as a JSON object",
  },
  optional: CALL_OPTIONAL,
  examples: [
    "heed explain --shape 1,12,4096,64",
    "heed explain --shape 1,12,4096,64 --causal --window 256,0",
    "heed explain --query-shape 1,32,1,128 --key-shape 1,8,4096,128 --causal=lower-right",
    "heed explain qkv.npz --mask pad.npy --json",
    "heed explain --shape 1,12,4096,64 --causal --backward",
    "heed explain --a-shape 8,128,384 --b-shape 1536,384 --transpose-b",
    "heed explain --shape 1,12,8192,64 --causal --ranks 8 -o plan.svg",
  ],
  async run(values, positionals, io) {
    const product = explainProduct(values, positionals, io);
    if (product !== undefined) return product;
    const inputs = shapedInputs(values, positionals) ?? (await readInputs(values, positionals, io));
    const { query, key, value, file } = inputs;
    const call = await readCall(values, io, file).finally(() => file?.close());
    if (values.ranks === undefined)
      for (const name of ["cost", "via", "output"])
        if (values[name] !== undefined) throw new UsageError(`--${name} goes with --ranks`);
    const pass = values.backward === true ? "backward" : "forward";
    const problem = problemOf("heed explain", query, key, value, call);
    const options = optionsOf(call, problem.shape);
    const plan = explain(query, key, value, { ...options, pass });
    const shared =
      values.ranks === undefined
        ? undefined
        : await sharedPlan(values, problem, [query, key, value], options, pass);
    if (values.json) {
      const operand = ({ shape, dtype }: typeof query) => ({ shape, dtype });
      const three = { query: operand(query), key: operand(key), value: operand(value) };
      const flops = (pass === "backward" ? 2.5 : 1) * flopsOf(problem);
      return printJson(io, { ...three, flops, plan, ...(shared && { ranks: sharedFacts(shared) }) });
    }
    const ranks = shared ? `\n${shared}\n` : "";
    io.stdout.write(`${operandLines({ query, key, value })}\n${plan}\n${ranks}`);
    return EXIT.ok;
  },
};
