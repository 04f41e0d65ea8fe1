/**
 * The tile of the forward kernel chosen by measurement, only where it is asked for. Tiles differ in rows and threads, not in the order of
 * sums: the choice changes no bit of a result on the adapters tested. Choices are cached by adapter, level and width of the output.
 */
import { resolve } from "../backend/problem.ts";
import { tensorOver } from "../core/device/tensor.ts";
import { sizeOf } from "../core/tensor.ts";
import { forward, forwardShape, levelOf, tileKey, workgroupBytes } from "./attention/forward.ts";
import { device } from "./device.ts";
import { type ForwardShape, TILES, type TuneCache, type TuneOptions, type TuneResult } from "./levels.ts";
import { forwardFault } from "./self-test/first-use.ts";
import type { GpuSession } from "./session.ts";
import { type RowTile, threadsOf } from "./tile.ts";

/** Milliseconds of a measurement, and how often it is repeated. */
const [LONG_ENOUGH, ROUNDS] = [20, 3];
const memory = new Map<string, string>();

const textOf = ({ rows, perThread }: RowTile): string => `${rows} × 32, ${perThread} rows a thread`;

/** The fastest of some tiles, each timed in turn in several rounds, by its shortest time. */
export async function fastest(
  tiles: readonly RowTile[],
  timeOf: (tile: RowTile) => Promise<number>,
): Promise<{ tile: RowTile | undefined; times: Record<string, number> }> {
  const best = tiles.map(() => Infinity);
  for (let round = 0; round < ROUNDS; round++)
    for (const [n, tile] of tiles.entries()) best[n] = Math.min(best[n], await timeOf(tile));
  return {
    tile: tiles[best.indexOf(Math.min(...best))],
    times: Object.fromEntries(tiles.map((tile, n) => [textOf(tile), best[n]])),
  };
}

/** Measures the tiles that the adapter has memory and threads for and that pass their self-test, and takes the fastest from now on. */
export async function tune(
  session: GpuSession,
  { tokens = 1024, size = 64, heads = 8, dtype = "float32" }: TuneOptions,
  cache: TuneCache,
  candidates = TILES,
): Promise<TuneResult> {
  const { capabilities, tiles: choices } = session;
  const shape = [1, heads, tokens, size];
  const inputs = [0, 1, 2].map(() => tensorOver(device.allocate(dtype, sizeOf(shape)), shape, dtype));
  const problem = resolve("tune", inputs[0], inputs[1], inputs[2], {});
  const level = levelOf(session, problem);
  const shapeWith = (tile: RowTile): ForwardShape => ({ ...forwardShape(session, problem, level), tile });
  const run = async (tile: RowTile, calls: number): Promise<number> => {
    const start = performance.now();
    for (let n = 0; n < calls; n++)
      for (const t of Object.values(forward(session, problem, shapeWith(tile)))) t.dispose();
    session.queue.flush();
    await session.device.queue.onSubmittedWorkDone();
    return performance.now() - start;
  };
  const place = tileKey(level, size);
  const key = `heed/webgpu tile: ${session.name}; ${place}`;
  const bytes = level.name === "portable" ? level.workgroupBytes : capabilities.workgroupBytes;
  const fits = candidates.filter(
    (tile) => workgroupBytes(shapeWith(tile)) <= bytes && threadsOf(tile) <= capabilities.threads,
  );
  const isRight = async (tile: RowTile) => (await forwardFault(session, shapeWith(tile))) === undefined;
  const { dispatches } = session.queue;
  try {
    const text = cache.getItem(key);
    const stored = fits.find((tile) => textOf(tile) === text);
    if (stored && (await isRight(stored))) {
      choices.set(place, stored);
      return { tile: textOf(stored), cached: true, times: {} };
    }
    const tiles: RowTile[] = [];
    for (const tile of fits) if (await isRight(tile)) tiles.push(tile);
    // Compiles, and finds out how many calls are long enough.
    const counts = new Map<RowTile, number>();
    for (const tile of tiles) {
      await run(tile, 1);
      counts.set(tile, Math.min(64, Math.ceil(LONG_ENOUGH / Math.max(0.1, await run(tile, 1)))));
    }
    const { tile, times } = await fastest(tiles, async (one) => {
      const calls = counts.get(one) ?? 1;
      return (await run(one, calls)) / calls;
    });
    const chosen = tile ?? level.tile;
    choices.set(place, chosen);
    cache.setItem(key, textOf(chosen));
    return { tile: textOf(chosen), cached: false, times };
  } finally {
    session.queue.dispatches = dispatches;
    for (const t of inputs) t.dispose();
  }
}

/** In a page `localStorage`, in Node a file; where there is none, or it is closed, this process. */
export function defaultCache(): TuneCache {
  try {
    const { localStorage } = globalThis as { readonly localStorage?: TuneCache };
    // Node has one without a file, whose methods are missing.
    if (typeof localStorage?.getItem === "function") return localStorage;
  } catch {
    // A page whose storage is closed.
  }
  return (
    fileCache() ?? { getItem: (key) => memory.get(key), setItem: (key, text) => void memory.set(key, text) }
  );
}

/** The choices in a file, by default in the user's cache folder; undefined outside Node. What another program wrote is left as it is, with a warning. */
export function fileCache(path?: string): TuneCache | undefined {
  const { process: node } = globalThis;
  const fs = node?.getBuiltinModule?.("node:fs");
  if (!fs) return undefined;
  const { dirname, join } = node.getBuiltinModule("node:path");
  const folder = node.env.XDG_CACHE_HOME || join(node.getBuiltinModule("node:os").homedir(), ".cache");
  const file = path ?? join(folder, "heed", "webgpu-tiles.json");
  let warns = true;
  const warn = (what: string) => {
    if (warns) node.emitWarning(`heed: ${file} ${what}; tuning measures in each process`);
    warns = false;
  };
  const read = (): Record<string, string> | undefined => {
    if (!fs.existsSync(file)) return {};
    try {
      const { heed, ...tiles } = JSON.parse(fs.readFileSync(file, "utf8"));
      if (heed === "tiles" && Object.values(tiles).every((text) => typeof text === "string")) return tiles;
    } catch {
      // No JSON, or not readable.
    }
    warn("has no tiles of heed/webgpu, and is not changed");
    return undefined;
  };
  return {
    getItem: (key) => read()?.[key],
    setItem(key, text) {
      const tiles = read();
      if (!tiles) return;
      const temporary = `${file}.${node.pid}`;
      try {
        fs.mkdirSync(dirname(file), { recursive: true });
        fs.writeFileSync(temporary, JSON.stringify({ ...tiles, heed: "tiles", [key]: text }));
        fs.renameSync(temporary, file);
      } catch (error) {
        warn(`cannot be written (${(error as Error).message})`);
      }
    },
  };
}
