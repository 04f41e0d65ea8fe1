/** `heed inspect`: lists the tensors of a file. Of safetensors only the header is read, unless statistics are requested. */

import { Counter, type Stats } from "../support/input/elements.ts";
import type { Container, TensorFacts } from "../support/input/tensors.ts";
import { MEMORY_HELP, memoryLimit, openContainer, splitAddress } from "../support/input/tensors.ts";
import { breathe, type Command, EXIT, type Io, UsageError } from "../support/line/command.ts";
import { startProgress } from "../support/output/progress.ts";
import {
  bytesText,
  columnsOf,
  numberText,
  printable,
  printJson,
  shapeText,
  styler,
} from "../support/output/terminal.ts";
import { countOf, FEW, nestedValues, SMALL, VALUES_HELP, valueLines } from "../support/output/value-lines.ts";

/** Bytes of a lazily read tensor to have in memory at a time. */
const PIECE = 2 ** 24;

/** Statistics of one tensor, read in pieces where the file allows; undefined for 8-bit floats. */
async function statsOf(
  file: Container,
  name: string,
  facts: TensorFacts,
  io: Io,
): Promise<Stats | undefined> {
  const counter = new Counter();
  const [rows = 1] = facts.shape;
  const step = Math.max(1, Math.floor(PIECE / Math.max(1, facts.bytes / Math.max(1, rows))));
  const readsAll = file.kind !== "safetensors" || facts.shape.length === 0 || rows <= step;
  for (let from = 0; from === 0 || from < rows; from += step) {
    const piece = await file.read(name, readsAll ? undefined : [from, Math.min(rows, from + step)]);
    if (!counter.add(piece)) return undefined;
    await breathe(io.signal);
    if (readsAll) break;
  }
  return counter.stats;
}

export const command: Command = {
  name: "inspect",
  summary: "list the tensors of a file, with statistics",
  usage: "heed inspect FILE [OPTIONS]",
  help: {
    stats: "also read the data: minimum, maximum, mean, standard deviation, zeros, NaN, infinities",
    only: "TEXT  only tensors whose name contains this; may be given several times",
    ...VALUES_HELP,
    ...MEMORY_HELP,
    json: "everything as a JSON object",
  },
  notes: `FILE is npy, npz, safetensors, a model.safetensors.index.json or a model's folder; FILE#NAME is one tensor of it; - is standard input.
Offsets are the byte range of a tensor in its file. Mean and deviation exclude NaN and infinities.`,
  multiple: ["only"],
  examples: [
    "heed inspect q.npy --stats",
    "heed inspect model.safetensors",
    "heed inspect model/ --only attn --only ln",
    "heed inspect out.npz#weights --values",
    "heed inspect model.safetensors#wte.weight --stats --json",
  ],
  async run(values, positionals, io) {
    if (positionals.length !== 1)
      throw new UsageError(`expected one file, got ${positionals.length || "none"}`);
    const { path, name: one } = splitAddress(positionals[0]);
    const file = await openContainer(path, io, memoryLimit(values));
    try {
      const only = values.only as string[] | undefined;
      if (one !== undefined && !file.tensors.has(one)) await file.read(one); // Throws an error with the names.
      const chosen = [...file.tensors].filter(
        ([name]) =>
          (one === undefined || name === one) && (!only || only.some((text) => name.includes(text))),
      );
      const stats = new Map<string, Stats | undefined>();
      if (values.stats) {
        const bar = startProgress(io, "reading");
        let done = 0;
        const total = Math.max(
          1,
          chosen.reduce((n, [, { bytes }]) => n + bytes, 0),
        );
        for (const [name, facts] of chosen) {
          bar.update((done += facts.bytes) / total);
          stats.set(name, await statsOf(file, name, facts, io).finally(bar.end));
        }
      }
      if (values.json) {
        const tensors: object[] = [];
        for (const [name, { dtype, shape, bytes, span }] of chosen) {
          const counted = stats.has(name) ? { stats: stats.get(name) ?? null } : {};
          const numbers = values.values ? { values: nestedValues(await file.read(name)) } : {};
          const offsets = span ? { offsets: span } : {};
          tensors.push({ name, dtype, shape, bytes, ...offsets, ...counted, ...numbers });
        }
        return printJson(io, { path, kind: file.kind, metadata: Object.fromEntries(file.metadata), tensors });
      }
      const lines = linesOf(file, chosen, stats, io);
      const small = chosen.filter(([, { shape }]) => countOf(shape) <= SMALL);
      const shown = values.values ? chosen : small.length <= FEW ? small : [];
      for (const [name] of shown) lines.push("", ...valueLines(printable(name), await file.read(name)));
      io.stdout.write(`${lines.join("\n")}\n`);
      return EXIT.ok;
    } finally {
      await file.close();
    }
  },
};

function linesOf(
  file: Container,
  chosen: readonly [string, TensorFacts][],
  stats: ReadonlyMap<string, Stats | undefined>,
  io: Io,
): string[] {
  const { bold } = styler(io);
  const lazily = file.kind === "safetensors";
  const head = ["name", "dtype", "shape", "bytes"];
  if (lazily) head.push("offsets");
  if (stats.size > 0) head.push("min", "max", "mean", "std", "zeros", "nan", "inf");
  const rows = chosen.map(([name, { dtype, shape, bytes, span }]) => {
    // A name may contain control characters, which must not reach the terminal.
    const row = [printable(name), dtype, shapeText(shape), bytesText(bytes)];
    if (lazily) row.push(span ? `${span[0]}–${span[1]}` : "");
    const counted = stats.get(name);
    if (counted) {
      const { min, max, mean, std, zeros, nan, inf } = counted;
      row.push(...[min, max, mean, std].map(numberText), String(zeros), String(nan), String(inf));
    } else if (stats.has(name)) row.push("-", "-", "-", "-", "-", "-", "-");
    return row;
  });
  const bytes = chosen.reduce((n, [, facts]) => n + facts.bytes, 0);
  const elements = chosen.reduce((n, [, { shape }]) => n + shape.reduce((a, b) => a * b, 1), 0);
  const count =
    chosen.length === file.tensors.size ? `${chosen.length}` : `${chosen.length} of ${file.tensors.size}`;
  const lines = [
    `${bold(file.path)}: ${file.kind}, ${count} ${file.tensors.size === 1 ? "tensor" : "tensors"}, ${elements} elements, ${bytesText(bytes)}`,
  ];
  for (const [key, text] of file.metadata)
    lines.push(`  ${printable(key)} = ${printable(text.slice(0, 200))}`);
  if (rows.length === 0) return lines;
  const right = [...head.keys()].filter((i) => !["name", "dtype", "shape", "offsets"].includes(head[i]));
  const [first, ...rest] = columnsOf([head, ...rows], right);
  return [...lines, "", bold(first), ...rest];
}
