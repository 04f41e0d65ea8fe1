/**
 * The levels of the forward kernel: one printed kernel with other tiles. A level needs features and limits of the adapter; it is the check of
 * the next one, and all give the same bits, because tiles differ in rows only, and sums of a row are made in one order.
 */
import { PORTABLE, type RowTile, threadsOf } from "./tile.ts";

/** A level of kernels: `portable` needs the core of WebGPU only, `tiles` 22 KiB of workgroup memory, `subgroups` that feature too. @beta */
export type LevelName = "portable" | "tiles" | "subgroups";

/** How the forward kernel is printed. */
export interface ForwardShape {
  readonly tile: RowTile;
  /** The threads of a row that exchange by shuffles of their subgroup: 8, 4, or 0 for workgroup memory. */
  readonly lanes: 0 | 4 | 8;
}

/** A printed forward kernel in words. */
export const forwardName = ({ tile: { rows, perThread }, lanes }: ForwardShape): string =>
  `forward, tiles of ${rows} × 32${perThread === 4 ? "" : `, ${perThread} rows a thread`}${lanes > 0 ? `, shuffles of ${lanes}` : ""}`;

/** What a level needs, and its tile of calls of more than 32 queries. */
export interface Level {
  readonly name: LevelName;
  readonly features: readonly string[];
  /** Bytes of workgroup memory. */
  readonly workgroupBytes: number;
  readonly tile: RowTile;
}

/** The levels, the best one last. */
export const LEVELS: readonly Level[] = [
  { name: "portable", features: [], workgroupBytes: 16384, tile: PORTABLE },
  { name: "tiles", features: [], workgroupBytes: 22528, tile: { rows: 64, perThread: 4 } },
  { name: "subgroups", features: ["subgroups"], workgroupBytes: 22528, tile: { rows: 64, perThread: 4 } },
];

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
  /** The smallest subgroup; 0 where the adapter does not say. */
  readonly subgroupMinSize: number;
}

/** The threads of a row that exchange by shuffles: subgroups of any width from 4 on, which WebGPU guarantees. */
export const lanesOf = ({ name }: Level, { subgroupMinSize }: Capabilities): ForwardShape["lanes"] =>
  name !== "subgroups" ? 0 : subgroupMinSize >= 8 ? 8 : 4;

/** Why a level cannot run on an adapter; undefined where it can. */
export function levelReason(level: Level, has: Capabilities, blocked = BLOCKED): string | undefined {
  const feature = level.features.find((name) => !has.features.has(name));
  if (feature !== undefined) return `the adapter has no feature "${feature}"`;
  if (level.workgroupBytes > has.workgroupBytes)
    return `it takes ${level.workgroupBytes} bytes of workgroup memory, and the adapter has ${has.workgroupBytes}`;
  const threads = threadsOf(level.tile);
  if (threads > has.threads)
    return `it has ${threads} threads a workgroup, and the adapter allows ${has.threads}`;
  if (level.name === "subgroups" && has.subgroupMinSize < 4)
    return "the adapter does not tell the size of its subgroups";
  return blocked.find((b) => b.level === level.name && b.adapter.test(has.name))?.reason;
}
