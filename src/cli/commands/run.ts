/** `heed run`: computes attention over query, key and value in files, with every option of `scaledDotProductAttention`. */

import { printPlan } from "../../backend/plan/plan.ts";
import { selectionOf } from "../../backend/selection.ts";
import type { Tensor } from "../../core/tensor.ts";
import { writeNpy, writeNpz, writeSafetensors } from "../../io/index.ts";
import { INPUT_HELP, readInputs } from "../support/input/inputs.ts";
import { breathe, type Command, EXIT, UsageError, type Values } from "../support/line/command.ts";
import { indices, optional } from "../support/line/values.ts";
import { save } from "../support/output/interrupt.ts";
import { checkPlace, suffixOf } from "../support/output/output.ts";
import { startProgress } from "../support/output/progress.ts";
import { bytesText, jsonText, numberText, secondsText, shapeText } from "../support/output/terminal.ts";
import { nestedValues, SMALL, VALUES_HELP, valueLines } from "../support/output/value-lines.ts";
import { CALL_HELP, CALL_OPTIONAL, readCall } from "../support/run/attention-options.ts";
import { checkRows } from "../support/run/check.ts";
import { compute, flopsOf, type Job, problemOf } from "../support/run/chunked-run.ts";
import { ENGINE_HELP } from "../support/run/engine.ts";

function weightsAsked(values: Values, suffix: string | undefined): Job["weights"] {
  const [heads, rows] = ["heads", "rows"].map((name) => optional(values, name, indices));
  if (!values.weights) {
    if (heads ?? rows) throw new UsageError("--heads and --rows choose weights; add --weights");
    return undefined;
  }
  if (suffix === ".npy" || (suffix === undefined && !values.values))
    throw new UsageError(
      "--weights are written beside the output: give -o FILE.npz or -o FILE.safetensors; --values prints them",
    );
  return (heads ?? rows) ? { heads, rows } : true;
}

/** The results as nested lists, for JSON. */
function valuesOf({ output, lse, weights }: { output: Tensor; lse: Tensor; weights?: Tensor }): object {
  const rows = weights && { weights: nestedValues(weights) };
  return { output: nestedValues(output), lse: nestedValues(lse), ...rows };
}

const facts = ({ shape, dtype }: Tensor) => ({ shape, dtype });

export const command: Command = {
  name: "run",
  summary: "compute attention over query, key and value in files",
  usage: `heed run FILE [-o OUT] [OPTIONS]
    heed run QUERY.npy KEY.npy VALUE.npy [-o OUT] [OPTIONS]`,
  help: {
    output: "FILE  write the output: .npy, or .npz and .safetensors with lse (and weights)",
    ...INPUT_HELP,
    ...CALL_HELP,
    weights: "also write the attention weights to .npz or .safetensors, or print them with --values",
    heads: "LIST  heads whose weights are written: 0,4-7 (default all)",
    rows: "LIST  rows whose weights are written (default all)",
    ...VALUES_HELP,
    check: "compare rows of the result with the formula in float64; exit code 1 where they differ",
    ...ENGINE_HELP,
    verbose: "print the plan",
    json: "the facts as a JSON object",
  },
  optional: CALL_OPTIONAL,
  notes: `Files: npy, npz, safetensors (one file, an index or a model folder). FILE#NAME is one tensor of a file; - is standard input.
Masks intersect. A soft cap comes before ALiBi. GFLOP/s count all scores, masked ones too.`,
  examples: [
    "heed run qkv.safetensors -o out.safetensors",
    "heed run qkv.npz --causal --values",
    "heed run qkv.npz --weights --rows 0 --values",
    "heed run q.npy k.npy v.npy --causal -o out.npy",
    "heed run qkv.npz --causal --window 256,0 --softcap 30 -o out.npz",
    "heed run model.safetensors --query h.0.q --key h.0.k --value h.0.v --alibi --check -v",
    "heed run qkv.npz --mask pad.npy --weights --heads 0 --rows 0-3 -o out.npz",
    "heed run cache.npz --causal --query-offset 811,1023 --key-lengths 812,1024 --json",
  ],
  async run(values, positionals, io) {
    const path = values.output as string | undefined;
    const suffix = path === undefined ? undefined : suffixOf(path);
    const weights = weightsAsked(values, suffix);
    if (path !== undefined) await checkPlace(path, positionals);
    const { query, key, value, file } = await readInputs(values, positionals, io);
    const call = await readCall(values, io, file).finally(() => file?.close());
    const problem = problemOf("heed run", query, key, value, call);
    if (typeof weights === "object") selectionOf("heed run", weights, problem.shape);
    await breathe(io.signal);

    const bar = startProgress(io, "attention");
    const job: Job = { query, key, value, call, problem, weights };
    const done = await compute(job, io.signal, bar.update).finally(bar.end);
    const check = values.check ? checkRows(problem, done.output) : undefined;
    const wrong = check !== undefined && !(check.bounds <= 1);
    let bytes = 0;
    if (path !== undefined && suffix !== undefined) {
      const { output, lse } = done;
      const tensors = { output, lse, ...(done.weights ? { weights: done.weights } : {}) };
      const contents =
        suffix === ".npy"
          ? writeNpy(output)
          : suffix === ".npz"
            ? await writeNpz(tensors)
            : writeSafetensors(tensors);
      await breathe(io.signal);
      await save(path, contents);
      bytes = contents.length;
    }

    const gflops = flopsOf(problem) / done.seconds / 1e9;
    const { plan } = done;
    if (values.json) {
      io.stdout.write(
        jsonText({
          query: facts(query),
          key: facts(key),
          value: facts(value),
          output: { ...facts(done.output), ...(path === undefined ? {} : { path, bytes }) },
          lse: facts(done.lse),
          ...(done.weights ? { weights: facts(done.weights) } : {}),
          seconds: done.seconds,
          gflops,
          pieces: done.pieces,
          plan,
          ...(check ? { check } : {}),
          ...(values.values ? { values: valuesOf(done) } : {}),
        }),
      );
      return wrong ? EXIT.failed : EXIT.ok;
    }
    const line = (name: string, t: Tensor) => `${name.padEnd(8)}${shapeText(t.shape)} ${t.dtype}`;
    const threads = `${plan.threads} ${plan.threads === 1 ? "thread" : "threads"}`;
    const lines = [line("query", query), line("key", key), line("value", value), line("output", done.output)];
    if (done.weights) lines.push(line("weights", done.weights));
    // The time of less work is mostly that of compiling the kernel, so a rate would be meaningless.
    const rate = flopsOf(problem) >= 5e7 ? `, ${gflops.toPrecision(3)} GFLOP/s` : "";
    lines.push(`time    ${secondsText(done.seconds)}${rate} (${plan.simd}, ${threads})`);
    if (values.verbose) lines.push(printPlan(plan), `pieces  ${done.pieces}`);
    if (check) {
      const { b, h, row, column } = check.at;
      const where = `batch ${b}, head ${h}, row ${row}, column ${column}`;
      lines.push(
        `check   ${wrong ? "FAILED" : "passed"}: ${check.rows} of ${check.of} rows, worst error ${check.worst.toExponential(2)} (${where}: ${numberText(check.got)}, float64 ${numberText(check.expected)}), ${check.bounds.toPrecision(2)} of the bound`,
      );
    }
    if (path !== undefined) lines.push(`wrote   ${path} (${bytesText(bytes)})`);
    const { output, lse, weights: rows } = done;
    if (values.values) {
      lines.push("", ...valueLines("output", output), "", ...valueLines("lse", lse));
      if (rows) lines.push("", ...valueLines("weights", rows));
    } else if (output.size <= SMALL) lines.push("", ...valueLines("output", output));
    io.stdout.write(`${lines.join("\n")}\n`);
    return wrong ? EXIT.failed : EXIT.ok;
  },
};
