/**
 * The levels of the forward kernel: one printed kernel with other tiles. A level needs features and limits of the adapter; it is the check of
 * the next one, and all but `matrices` give the same bits, because tiles differ in rows only, and sums of a row are made in one order.
 */
import { PORTABLE, type RowTile, type TileStorage, threadsOf } from "./tile.ts";

/**
 * A level of kernels: `portable` needs the core of WebGPU only, `tiles` 22 KiB of workgroup memory, `subgroups` that feature too. `half` keeps
 * tensors of 16 bits as they are, `matrices` multiplies those of float16 by matrices of subgroups, an experimental feature. @beta
 */
export type LevelName = "portable" | "tiles" | "subgroups" | "half" | "matrices";

/** The sizes of the matrices that subgroups multiply: M × K by K × N. */
export interface MatrixSizes {
  readonly M: number;
  readonly N: number;
  readonly K: number;
}

/** How the forward kernel is printed. */
export interface ForwardShape {
  readonly tile: RowTile;
  /** The threads of a row that exchange by shuffles of their subgroup: 8, 4, or 0 for workgroup memory. */
  readonly lanes: 0 | 4 | 8;
  readonly storage: TileStorage;
  /** The matrices, where the storage is for them, and the threads of the largest subgroup. */
  readonly matrices?: MatrixSizes & { readonly subgroup: number };
}

/** A printed forward kernel in words. */
export const forwardName = ({ tile: { rows, perThread }, lanes, storage, matrices }: ForwardShape): string =>
  [`forward, tiles of ${rows} × 32`, perThread !== 4 && `${perThread} rows a thread`, lanes > 0 && `shuffles of ${lanes}`, matrices ? `matrices of ${matrices.M} × ${matrices.N} × ${matrices.K}` : storage !== "float32" && `${storage} in workgroup memory`].filter(Boolean).join(", "); // biome-ignore format: a row

/** What a level needs, and its tile of calls of more than 32 queries. */
export interface Level {
  readonly name: LevelName;
  readonly features: readonly string[];
  /** Bytes of workgroup memory. */
  readonly workgroupBytes: number;
  readonly tile: RowTile;
}

const TALL: RowTile = { rows: 64, perThread: 4 };

/** The feature of matrices of subgroups, a draft. */
export const MATRICES = "chromium-experimental-subgroup-matrix";

/** The levels of every dtype, the best one last. */
export const BASES: readonly Level[] = [
  { name: "portable", features: [], workgroupBytes: 16384, tile: PORTABLE },
  { name: "tiles", features: [], workgroupBytes: 22528, tile: TALL },
  { name: "subgroups", features: ["subgroups"], workgroupBytes: 22528, tile: TALL },
];

/** The levels of tensors of 16 bits, and of float16: above a base, which all other tensors use. `matrices` is used where it is requested. */
export const NARROW: readonly Level[] = [
  { name: "half", features: [], workgroupBytes: 16384, tile: TALL },
  { name: "matrices", features: ["subgroups", "shader-f16", MATRICES], workgroupBytes: 28688, tile: TALL },
];

/** All levels, the best one last. */
export const LEVELS: readonly Level[] = [...BASES, ...NARROW];

/** The tiles that `tune` measures. */
export const TILES: readonly RowTile[] = [
  ...([16, 32, 64, 128] as const).map((rows): RowTile => ({ rows, perThread: 4 })),
  ...([32, 64, 128] as const).map((rows): RowTile => ({ rows, perThread: 8 })),
];

/** Where choices are stored, such as `localStorage`. @beta */
export interface TuneCache {
  /** The text of a key; null or undefined where there is none. */
  getItem(key: string): string | null | undefined;
  /** Stores the text of a key. */
  setItem(key: string, text: string): void;
}

/** What is measured: attention of `heads` heads of `tokens` × `tokens`, with `size` columns a head. @beta */
export interface TuneOptions {
  /** Default 1,024. */
  readonly tokens?: number;
  /** Default 64. */
  readonly size?: number;
  /** Default 8. */
  readonly heads?: number;
  /** Of query, key and value. Default "float32"; a choice for "float16" is also that of "bfloat16". */
  readonly dtype?: "float32" | "float16";
}

/** A choice: the tile, and the milliseconds of each that was measured; none where the choice was cached. @beta */
export interface TuneResult {
  readonly tile: string;
  readonly cached: boolean;
  readonly times: Readonly<Record<string, number>>;
}

/** An adapter that must not use a level, and why. `adapter` is matched with its vendor, architecture and description. */
export interface Blocked {
  readonly adapter: RegExp;
  readonly level: LevelName;
  readonly reason: string;
}

/** Adapters whose drivers compute wrong numbers in ways that the self-test could miss. None is known. */
const BLOCKED: readonly Blocked[] = Object.freeze([]);

/** What the levels ask of an adapter. */
export interface Capabilities {
  readonly name: string;
  readonly features: Pick<ReadonlySet<string>, "has">;
  readonly workgroupBytes: number;
  readonly threads: number;
  /** The smallest subgroup and the largest; 0 where the adapter does not say. */
  readonly subgroupMinSize: number;
  readonly subgroupMaxSize: number;
  /** Matrices of float16 whose product is float32, of sizes that divide a tile. */
  readonly matrices?: MatrixSizes;
}

/** A configuration of matrices, as an adapter lists it. */
interface MatrixConfig extends MatrixSizes {
  readonly componentType: string;
  readonly resultComponentType: string;
}

/** The largest matrices of float16 whose product is float32, of sizes that divide a tile of 32 keys. */
export const matricesOf = (configs: Iterable<MatrixConfig> = []): MatrixSizes | undefined =>
  [...configs]
    .filter((one) => one.componentType === "f16" && one.resultComponentType === "f32")
    .map(({ M, N, K }) => ({ M, N, K }))
    .filter((sizes) => Object.values(sizes).every((x) => x > 0 && 32 % x === 0))
    .sort((a, b) => b.M * b.N * b.K - a.M * a.N * a.K)[0];

/** The threads of a row that exchange by shuffles: subgroups of any width from 4 on, which WebGPU guarantees. */
const lanesOf = ({ name }: Level, { subgroupMinSize }: Capabilities): ForwardShape["lanes"] =>
  name !== "subgroups" ? 0 : subgroupMinSize >= 8 ? 8 : 4;

/** How the kernel of a level above a base is printed, for tensors of a dtype. */
export function shapeOf(
  { name, tile }: Level,
  base: Level,
  has: Capabilities,
  dtype: "float16" | "bfloat16" = "float16",
): ForwardShape {
  const shape = { tile, lanes: lanesOf(base, has) };
  if (name === "half") return { ...shape, storage: dtype };
  if (name !== "matrices" || !has.matrices) return { ...shape, storage: "float32" };
  return { ...shape, storage: "matrices", matrices: { ...has.matrices, subgroup: has.subgroupMaxSize } };
}

/** Why a level cannot run on an adapter; undefined where it can. */
export function levelReason(level: Level, has: Capabilities, blocked = BLOCKED): string | undefined {
  const feature = level.features.find((name) => !has.features.has(name));
  if (feature !== undefined) return `the adapter has no feature "${feature}"`;
  if (level.workgroupBytes > has.workgroupBytes)
    return `it takes ${level.workgroupBytes} bytes of workgroup memory, and the adapter has ${has.workgroupBytes}`;
  const threads = threadsOf(level.tile);
  if (threads > has.threads)
    return `it has ${threads} threads a workgroup, and the adapter allows ${has.threads}`;
  if (level.features.includes("subgroups") && has.subgroupMinSize < 4)
    return "the adapter does not tell the size of its subgroups";
  if (level.name === "matrices" && !has.matrices)
    return "the adapter multiplies no matrices of float16 with a product in float32";
  return blocked.find((b) => b.level === level.name && b.adapter.test(has.name))?.reason;
}
