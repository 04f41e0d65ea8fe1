/**
 * Entire models, heed and PyTorch: a forward pass of an encoder over N tokens, or the tokens that a decoder generates with a cache.
 * heed and a Python process (bench/peers/torch_model.py) take turns; their results are compared before anything is timed.
 *
 *   node bench/models.ts DIR [--tokens 128] [--write 24] [--level wide] [--threads 1] [--turns 9] [--python python3]
 *   node bench/models.ts DIR --memory          peak memory of opening the model and of passes, relative to the bytes of its weights
 *
 * DIR is a model in Hugging Face's layout; `python3 bench/peers/torch_model.py make bert-base DIR` creates one with random weights.
 * Without torch, only heed is timed, and a line says so.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { configure, prepare, type SimdLevel } from "../src/index.ts";
import { type CachedDecoder, generate, readModel, type TextModel } from "../src/models/index.ts";
import { inProcess, optionsOf, printTable } from "./support/setup.ts";
import { quantile } from "./support/turns.ts";

/** The result of a turn: seconds of a pass or of a token, and the states or tokens. */
interface Turn {
  readonly seconds: readonly number[];
  /** Processor seconds of a pass or a token, over all threads: other programs affect them little. */
  readonly processor: number;
  readonly states?: readonly number[] | null;
  readonly written?: readonly number[];
}

/** Passes of an encoder in a turn. */
const PASSES = 8;
/** Milliseconds between turns, in which the threads of the last turn go to sleep. */
const PAUSE_MS = 250;

/** Token ids that are in every vocabulary of 256 or more tokens. */
const idsOf = (count: number): number[] => Array.from({ length: count }, (_, n) => 5 + ((n * 37) % 200));

/** heed's turn. */
function turnOf({ model }: TextModel, tokens: number, write: number): Turn {
  const ids = idsOf(tokens);
  const seconds: number[] = [];
  if (model.architecture === "decoder") {
    const written: number[] = [];
    let start = 0;
    let busy = 0;
    for (const id of generate(model as unknown as CachedDecoder, ids, { maxTokens: write, stop: [] })) {
      if (written.length > 0) seconds.push((performance.now() - start) / 1e3);
      else busy = processorSeconds();
      written.push(id);
      start = performance.now();
    }
    return { seconds, processor: (processorSeconds() - busy) / (write - 1), written };
  }
  const list = Int32Array.from(ids);
  let states: Float64Array | undefined;
  const busy = processorSeconds();
  for (let n = 0; n < PASSES; n++) {
    const start = performance.now();
    const hidden = model.hidden(list);
    seconds.push((performance.now() - start) / 1e3);
    if (n === 0) states = hidden.toFloat64();
  }
  return { seconds, processor: (processorSeconds() - busy) / PASSES, states: states && [...states] };
}

function processorSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** The Python process. */
class Peer {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  constructor(python: string, folder: string, threads: number) {
    const script = fileURLToPath(new URL("peers/torch_model.py", import.meta.url));
    const env = { ...process.env, OMP_NUM_THREADS: `${threads}`, MKL_NUM_THREADS: `${threads}` };
    this.#child = spawn(python, [script, "serve", folder, `${threads}`], {
      env,
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#lines = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]();
  }
  /** The next line of the process; undefined if it has ended. */
  async line<T>(): Promise<T | undefined> {
    const { value, done } = await this.#lines.next();
    return done ? undefined : (JSON.parse(value) as T);
  }
  async ask(request: object): Promise<Turn> {
    this.#child.stdin!.write(`${JSON.stringify(request)}\n`);
    const answer = await this.line<Turn>();
    if (!answer) throw new Error("bench/models: the Python process ended");
    return answer;
  }
  end(): void {
    this.#child.stdin!.end();
  }
}

/** Throws if the two results differ. */
function compare(ours: Turn, theirs: Turn): string {
  if (ours.written) {
    const first = ours.written.findIndex((id, n) => id !== theirs.written?.[n]);
    if (first >= 0) throw new Error(`bench/models: token ${first} differs from PyTorch's; nothing was timed`);
    return `${ours.written.length} tokens equal PyTorch's`;
  }
  const [a, b] = [ours.states ?? [], theirs.states ?? []];
  let worst = a.length === b.length ? 0 : Infinity;
  for (const [n, x] of a.entries()) worst = Math.max(worst, Math.abs(x - b[n]));
  if (!(worst < 1e-3))
    throw new Error(`bench/models: states differ from PyTorch's by ${worst}; nothing was timed`);
  return `states differ from PyTorch's by ${worst.toExponential(1)} at most`;
}

const pause = () => new Promise((resolve) => setTimeout(resolve, PAUSE_MS));

interface Settings {
  readonly folder: string;
  readonly tokens: number;
  readonly write: number;
  readonly threads: number;
  readonly turns: number;
  readonly python: string;
}

async function measure({ folder, tokens, write, threads, turns, python }: Settings): Promise<void> {
  const peer = new Peer(python, folder, threads);
  const versions = await peer.line<{ torch: string; transformers: string }>();
  const model = await readModel(folder);
  await prepare();
  const heedTurn = () => turnOf(model, tokens, write);
  const other = (states: boolean) => peer.ask({ ids: idsOf(tokens), passes: PASSES, tokens: write, states });
  const first = heedTurn();
  if (versions) console.log(compare(first, await other(true)));
  else console.log(`${python} has no torch and transformers: heed is timed alone`);
  const [ours, theirs]: Turn[][] = [[], []];
  for (let n = 0; n < turns; n++) {
    await pause();
    ours.push(heedTurn());
    if (!versions) continue;
    await pause();
    theirs.push(await other(false));
  }
  peer.end();
  const wall = (all: readonly Turn[]) => all.map(({ seconds }) => quantile(seconds, 0.5) * 1e3);
  const busy = (all: readonly Turn[]) => all.map(({ processor }) => processor * 1e3);
  const best = (all: readonly Turn[]) => Math.min(...all.flatMap(({ seconds }) => seconds)) * 1e3;
  const row = (name: string, all: readonly Turn[]) => [
    name,
    best(all).toFixed(1),
    quantile(wall(all), 0.5).toFixed(1),
    `${quantile(wall(all), 0.25).toFixed(1)}–${quantile(wall(all), 0.75).toFixed(1)}`,
    quantile(busy(all), 0.5).toFixed(1),
    quantile(busy(all), 0).toFixed(1),
  ];
  const unit = model.architecture === "decoder" ? "ms a token" : "ms a pass";
  const rows = [["", "best", unit, "p25–p75", "processor ms", "least"], row("heed", ours)];
  if (versions) rows.push(row(`PyTorch ${versions.torch}`, theirs));
  printTable(rows);
  if (!versions) return;
  const share = (of: (all: readonly Turn[]) => number[]) =>
    quantile(
      of(ours).map((ms, n) => ms / of(theirs)[n]),
      0.5,
    ).toFixed(2);
  console.log(
    `heed / PyTorch, turn by turn: time ${share(wall)}, processor time ${share(busy)}; best over best ${(best(ours) / best(theirs)).toFixed(2)}`,
  );
}

/** Peak resident memory of a fresh process, in MiB: with heed loaded, its threads started, the model opened, and passes run. */
async function memoryOf(folder: string, tokens: number, write: number, threads: number): Promise<void> {
  const peak = () => process.resourceUsage().maxRSS / 1024;
  const loaded = peak();
  if (threads > 1) await prepare();
  const start = peak();
  const model = await readModel(folder);
  const opened = peak();
  // Only passes: their results are not converted to JavaScript arrays.
  if (model.architecture === "decoder") turnOf(model, tokens, write);
  else for (let n = 0; n < PASSES; n++) model.model.hidden(Int32Array.from(idsOf(tokens)));
  console.log(JSON.stringify({ loaded, start, opened, run: peak() }));
}

/** Number of processes whose memory is measured; the median counts, because V8's heap grows at a different time in each. */
const PROCESSES = 5;

function measureMemory(folder: string, args: readonly string[]): void {
  const runs = Array.from({ length: PROCESSES }, () =>
    inProcess<Record<string, number>>(import.meta.url, [...args, "--memory-child"]),
  );
  const median = (name: string) =>
    quantile(
      Array.from(runs, (run) => run[name]),
      0.5,
    );
  const beyond = runs.map((one) => one.run - one.start).sort((a, b) => a - b);
  const files = readdirSync(folder).filter((name) => name.endsWith(".safetensors"));
  const weights = files.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0) / 2 ** 20;
  const over = (quantile(beyond, 0.5) / weights - 1) * 100;
  printTable([
    ["weights", `${weights.toFixed(0)} MiB`],
    ["process before", `${median("loaded").toFixed(0)} MiB`],
    ["with its threads", `${median("start").toFixed(0)} MiB`],
    ["peak, opened", `${median("opened").toFixed(0)} MiB`],
    [
      "peak, after the passes",
      `${median("run").toFixed(0)} MiB: weights ${over < 0 ? "−" : "+"} ${Math.abs(over).toFixed(0)} %, without the process itself`,
    ],
    ["in each process", beyond.map((mib) => `${mib.toFixed(0)} MiB`).join(", ")],
  ]);
}

if (import.meta.main) {
  const { values, positionals } = optionsOf({
    tokens: 128,
    write: 24,
    level: "wide",
    threads: 1,
    turns: 9,
    python: "python3",
    memory: false,
    "memory-child": false,
  });
  const [folder] = positionals;
  if (folder === undefined) throw new Error("usage: node bench/models.ts DIR [options]");
  const { tokens, write, threads, turns, python, level } = values;
  configure({ simd: level as SimdLevel, threads });
  const args = process.argv.slice(2).filter((argument) => argument !== "--memory");
  if (values["memory-child"]) await memoryOf(folder, tokens, write, threads);
  else if (values.memory) measureMemory(folder, args);
  else await measure({ folder, tokens, write, threads, turns, python });
}
