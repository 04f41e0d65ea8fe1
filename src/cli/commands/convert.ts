/** `heed convert`: converts tensors between file formats, and to another dtype if requested. */
import { FLOAT_DTYPES, isFloat } from "../../core/dtype.ts";
import type { TensorLike } from "../../core/tensor.ts";
import { type FileTensor, writeNpy, writeNpz, writeSafetensors } from "../../io/index.ts";
import { toFloat } from "../support/input/elements.ts";
import { MEMORY_HELP, memoryLimit, openContainer, splitAddress } from "../support/input/tensors.ts";
import { breathe, type Command, EXIT, UsageError } from "../support/line/command.ts";
import { oneOf, optional } from "../support/line/values.ts";
import { save } from "../support/output/interrupt.ts";
import { checkPlace, suffixOf } from "../support/output/output.ts";
import { startProgress } from "../support/output/progress.ts";
import { bytesText, printJson, shapeText } from "../support/output/terminal.ts";

export const command: Command = {
  name: "convert",
  summary: "convert tensors between npy, npz and safetensors",
  usage: "heed convert IN OUT [OPTIONS]",
  help: {
    dtype: "DTYPE  float32, float64, float16 or bfloat16; rounded once to nearest even",
    only: "NAMES  only these tensors, separated by commas",
    name: "NAME  name of the tensor in OUT, for a single tensor",
    compress: "deflate the arrays of an npz file",
    ...MEMORY_HELP,
    json: "what was written as a JSON object",
  },
  notes: `OUT ends in .npy (one tensor), .npz or .safetensors. IN may be FILE#NAME, an index, a model's folder, or - for standard input.
--dtype converts floating-point tensors; others only where --only or #NAME names them. NumPy has no bfloat16.`,
  examples: [
    "heed convert q.npy q.safetensors --name query",
    "heed convert model.safetensors half.safetensors --dtype bfloat16",
    "heed convert model/#wte.weight wte.npy --dtype float32",
    "heed convert qkv.safetensors qkv.npz --only query,key,value --compress",
  ],
  async run(values, positionals, io) {
    if (positionals.length !== 2)
      throw new UsageError(`expected IN and OUT, got ${positionals.length || "neither"}`);
    const [from, to] = positionals;
    const suffix = suffixOf(to);
    const dtype = optional(values, "dtype", oneOf<(typeof FLOAT_DTYPES)[number]>, FLOAT_DTYPES);
    if (values.compress && suffix !== ".npz") throw new UsageError("--compress is for npz files");
    await checkPlace(to, [from]);
    const { path, name: one } = splitAddress(from);
    const file = await openContainer(path, io, memoryLimit(values));
    try {
      const only = (values.only as string | undefined)?.split(",");
      if (one !== undefined && only)
        throw new UsageError("--only and #NAME both choose tensors; give one of them");
      const named = one === undefined ? only : [one];
      const names = named ?? [...file.tensors.keys()];
      if (suffix === ".npy" && names.length !== 1)
        throw new UsageError(`${to} holds one tensor, ${path} ${names.length}; choose one with --only NAME`);
      if (values.name !== undefined && names.length !== 1)
        throw new UsageError(`--name is for one tensor; ${path} gives ${names.length}`);
      const tensors = new Map<string, FileTensor>();
      const overflows = new Map<string, number>();
      const bar = startProgress(io, "converting");
      for (const [n, name] of names.entries()) {
        let tensor: FileTensor = await file.read(name);
        if (dtype !== undefined && tensor.dtype !== dtype && (named !== undefined || isFloat(tensor.dtype))) {
          const converted = toFloat(name, tensor, dtype);
          tensor = converted.tensor as FileTensor;
          if (converted.overflows > 0) overflows.set(name, converted.overflows);
        }
        tensors.set((values.name as string | undefined) ?? name, tensor);
        bar.update((n + 1) / names.length);
        await breathe(io.signal).catch((error) => {
          bar.end();
          throw error;
        });
      }
      bar.end();
      const all = tensors as ReadonlyMap<string, TensorLike>;
      const contents =
        suffix === ".npy"
          ? writeNpy([...all.values()][0])
          : suffix === ".npz"
            ? await writeNpz(all, { compress: values.compress === true })
            : writeSafetensors(all, { metadata: file.metadata });
      await breathe(io.signal);
      await save(to, contents);
      for (const [name, count] of overflows)
        io.stderr.write(
          `heed convert: ${count} finite numbers of ${name} are beyond ${dtype} and became infinite\n`,
        );
      if (values.json) {
        const written = [...tensors].map(([name, { dtype, shape }]) => ({ name, dtype, shape }));
        return printJson(io, {
          path: to,
          bytes: contents.length,
          tensors: written,
          overflows: Object.fromEntries(overflows),
        });
      }
      const [first] = tensors;
      const what =
        tensors.size === 1
          ? `${first[0]} ${shapeText(first[1].shape)} ${first[1].dtype}`
          : `${tensors.size} tensors`;
      io.stdout.write(`wrote ${to}: ${what}, ${bytesText(contents.length)}\n`);
      return EXIT.ok;
    } finally {
      await file.close();
    }
  },
};
