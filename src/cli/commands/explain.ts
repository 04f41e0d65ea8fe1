/** `heed explain`: how a call would run, printed before anything is computed. */
import { explain } from "../../attention.ts";
import type { AttentionOptions, Problem } from "../../backend/problem.ts";
import { shardSequence } from "../../cluster/index.ts";
import { BYTES } from "../../core/dtype.ts";
import { OptionError } from "../../core/errors.ts";
import type { Tensor } from "../../core/tensor.ts";
import { CALL_HELP, CALL_OPTIONAL, CALL_OPTIONS, optionsOf, readCall } from "../support/attention-options.ts";
import { flopsOf, problemOf } from "../support/chunked-run.ts";
import { type Command, EXIT, UsageError, type Values } from "../support/command.ts";
import { ENGINE_HELP, ENGINE_OPTIONS } from "../support/engine.ts";
import {
  INPUT_HELP,
  INPUT_OPTIONS,
  readInputs,
  SHAPE_HELP,
  SHAPE_OPTIONS,
  shapedInputs,
} from "../support/inputs.ts";
import { save } from "../support/interrupt.ts";
import { checkPlace } from "../support/output.ts";
import { shardFigure } from "../support/ranks/shard-figure.ts";
import { bytesText, jsonText, shapeText } from "../support/terminal.ts";
import { integer, oneOf } from "../support/values.ts";

/** How ranks would share the sequence: as text and as facts; as a figure where a file is named. */
async function sharesOf(
  values: Values,
  problem: Problem,
  options: AttentionOptions,
  key: Tensor,
  value: Tensor,
): Promise<{ text: string; facts: object }> {
  const ranks = integer("ranks", values.ranks, 1, 2 ** 16);
  const cost = oneOf("cost", values.cost ?? "tiles", ["tiles", "tokens"] as const);
  const { B, Hq, Nq, Nk, dv } = problem.shape;
  if (Nq !== Nk)
    throw new OptionError("ranks", `--ranks shares a sequence with itself; got ${Nq} queries and ${Nk} keys`);
  const { attnMask, isCausal } = options;
  const plan = shardSequence({
    length: Nq,
    ranks,
    cost,
    batch: Math.max(1, B),
    heads: Math.max(1, Hq),
    ...(attnMask !== undefined && { attnMask }),
    isCausal: isCausal !== undefined && isCausal !== false,
  });
  const share = (ranks - 1) / ranks;
  const both = BYTES[key.dtype] * key.size + BYTES[value.dtype] * value.size;
  const bytes = {
    forward: Math.round(both * share),
    backward: Math.round(2 * both * share),
    decode: (ranks - 1) * 4 * B * Hq * (dv + 1),
    gathered: both,
  };
  const lines = String(plan)
    .split("\n")
    .map((line, n) => `${(n === 0 ? "ranks" : "").padEnd(8)}${line}`);
  lines.push(
    `${"bytes".padEnd(8)}a rank sends ${bytesText(bytes.forward)} forwards, ${bytesText(bytes.backward)} backwards (gather or ring); ${bytesText(bytes.decode)} a token when decoding (resident)`,
    `${"".padEnd(8)}gather holds ${bytesText(bytes.gathered)} of keys and values on each rank, ring ${bytesText(Math.round((2 * bytes.gathered) / ranks))}`,
  );
  const output = values.output as string | undefined;
  if (output !== undefined) {
    if (!/\.svg$/i.test(output))
      throw new UsageError(`--output must end in .svg, got ${JSON.stringify(output)}`);
    await checkPlace(output);
    await save(output, new TextEncoder().encode(shardFigure(plan, problem)));
  }
  const ranges = Array.from({ length: ranks }, (_, rank) => plan.ranges(rank));
  const { kind, costs, imbalance } = plan;
  return { text: lines.join("\n"), facts: { kind, ranges, tiles: costs, imbalance, bytes } };
}

export const command: Command = {
  name: "explain",
  summary: "print how a call would run, without running it",
  usage: `heed explain --shape B,H,N,d [OPTIONS]
    heed explain FILE [OPTIONS]
    heed explain QUERY.npy KEY.npy VALUE.npy [OPTIONS]`,
  options: {
    ...SHAPE_OPTIONS,
    ...INPUT_OPTIONS,
    ...CALL_OPTIONS,
    ...ENGINE_OPTIONS,
    ranks: { type: "string" },
    cost: { type: "string" },
    output: { type: "string", short: "o" },
    json: { type: "boolean" },
  },
  help: {
    ...SHAPE_HELP,
    ...INPUT_HELP,
    ...CALL_HELP,
    ...ENGINE_HELP,
    ranks: "N  also how N machines would share the sequence (docs/09-cluster.md)",
    cost: "WHAT  what ranks share equally: tiles that the mask lets be seen (default), or tokens",
    output: "PLAN.svg  with --ranks: the shares as a figure",
    json: "the plan as a JSON object",
  },
  optional: CALL_OPTIONAL,
  examples: [
    "heed explain --shape 1,12,4096,64",
    "heed explain --shape 1,12,4096,64 --causal --window 256,0",
    "heed explain --query-shape 1,32,1,128 --key-shape 1,8,4096,128 --causal=lower-right",
    "heed explain qkv.npz --mask pad.npy --json",
    "heed explain --shape 1,12,8192,64 --causal --ranks 8 -o plan.svg",
  ],
  async run(values, positionals, io) {
    const inputs = shapedInputs(values, positionals) ?? (await readInputs(values, positionals, io));
    const { query, key, value, file } = inputs;
    const call = await readCall(values, io, file);
    await file?.close();
    if (values.ranks === undefined)
      for (const name of ["cost", "output"])
        if (values[name] !== undefined) throw new UsageError(`--${name} goes with --ranks`);
    const problem = problemOf("heed explain", query, key, value, call);
    const options = optionsOf(call, problem.shape);
    const plan = explain(query, key, value, options);
    const shares =
      values.ranks === undefined ? undefined : await sharesOf(values, problem, options, key, value);
    if (values.json) {
      const operand = ({ shape, dtype }: typeof query) => ({ shape, dtype });
      const three = { query: operand(query), key: operand(key), value: operand(value) };
      io.stdout.write(
        jsonText({ ...three, flops: flopsOf(problem), plan, ...(shares && { ranks: shares.facts }) }),
      );
      return EXIT.ok;
    }
    const lines = Object.entries({ query, key, value }).map(
      ([name, t]) => `${name.padEnd(8)}${shapeText(t.shape)} ${t.dtype}`,
    );
    io.stdout.write(`${lines.join("\n")}\n${plan}\n${shares ? `${shares.text}\n` : ""}`);
    return EXIT.ok;
  },
};
