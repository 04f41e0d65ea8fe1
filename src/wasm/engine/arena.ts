/**
 * The arena for the results of a scope (core/arena.ts), in the engine's memory: kernels read and write results in place, and
 * nothing is copied, cleared or garbage-collected. Arrays are consecutive in slabs, which are released together; the next scope
 * starts with a single slab of the total size that this one needed.
 */
import type { Arena, ArenaPosition } from "../../core/arena.ts";
import type { Engine } from "./engine.ts";
import { registerBuffer } from "./transfer.ts";

/** Elements after every array that a kernel may write, because it writes full vectors. */
const PADDING = 16;
/** Bytes of the first slab: pages that no array reaches take no memory, and a second slab may leave a gap after it. */
const FIRST_BYTES = 2 ** 22;
/** A scope that needs more gets ordinary arrays for the rest. */
const MAX_BYTES = 2 ** 30;
/** How long unused memory is kept. */
const IDLE_RELEASE_MS = 1000;

let arena: EngineArena | undefined;

/** The arena in the engine's memory; undefined where that memory is not shared, because growing it would detach the arrays. */
export function engineArena(engine: Engine): EngineArena | undefined {
  if (!engine.memory.shared) return undefined;
  if (arena?.engine !== engine) arena = new EngineArena(engine);
  return arena;
}

export class EngineArena implements Arena {
  readonly engine: Engine;
  #slabs: { readonly at: number; readonly size: number }[] = [];
  /** Bytes of the last slab that are in use. */
  #used = 0;
  /** Bytes of all slabs. */
  #capacity = 0;
  /** Maximum bytes in use since the last `reset`. */
  #peak = 0;
  /** Minimum bytes of the next slab. */
  #next = FIRST_BYTES;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #buffers = new Set<ArrayBufferLike>();

  constructor(engine: Engine) {
    this.engine = engine;
  }

  allocate(length: number, padding: number): Float32Array | undefined {
    const { memory } = this.engine;
    // A scope may last longer than unused memory is kept.
    clearTimeout(this.#timer);
    const bytes = Math.ceil((4 * (length + padding + PADDING)) / 64) * 64;
    const last = this.#slabs[this.#slabs.length - 1];
    if (last === undefined || this.#used + bytes > last.size) {
      const size = Math.max(bytes, this.#capacity >> 2, this.#next);
      if (this.#capacity + size > MAX_BYTES) return undefined;
      try {
        this.#slabs.push({ at: memory.alloc(size), size });
      } catch {
        // The memory is full or the system refused to grow it. An ordinary array may still fit; if not, its allocation throws.
        return undefined;
      }
      this.#capacity += size;
      this.#used = 0;
      this.#next = FIRST_BYTES;
    }
    const { at } = this.#slabs[this.#slabs.length - 1];
    const { buffer } = memory.memory;
    if (!this.#buffers.has(buffer)) {
      this.#buffers.add(buffer);
      registerBuffer(buffer, memory);
    }
    const data = new Float32Array(buffer, at + this.#used, length);
    this.#used += bytes;
    return data;
  }

  owns(data: ArrayBufferView): boolean {
    return this.#buffers.has(data.buffer);
  }

  position(): ArenaPosition {
    return { slabs: this.#slabs.length, used: this.#used };
  }

  rewind({ slabs, used }: ArenaPosition, survivor: Float32Array): Float32Array {
    this.#countPeak();
    // The array may be in a slab that is released below: copy it first.
    const source = this.#slabs.length > slabs ? survivor.slice() : survivor;
    for (const { at, size } of this.#slabs.splice(slabs)) {
      this.engine.memory.free(at);
      this.#capacity -= size;
    }
    this.#used = used;
    const target = this.allocate(survivor.length, 0);
    if (!target) return source === survivor ? survivor.slice() : source;
    target.set(source);
    return target;
  }

  #countPeak(): void {
    const last = this.#slabs[this.#slabs.length - 1];
    this.#peak = Math.max(this.#peak, this.#capacity - (last?.size ?? 0) + this.#used);
  }

  reset(): void {
    this.#countPeak();
    const needed = this.#peak;
    this.#peak = this.#used = 0;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.free(), IDLE_RELEASE_MS);
    // In Node a timer would keep the process alive.
    (this.#timer as { unref?: () => void }).unref?.();
    if (this.#slabs.length < 2 && this.#capacity >= needed) return;
    // The next `allocate` makes one slab of that size.
    this.free();
    this.#next = Math.max(FIRST_BYTES, needed);
  }

  /** Releases all memory. */
  free(): void {
    for (const { at } of this.#slabs) this.engine.memory.free(at);
    this.#slabs = [];
    this.#capacity = this.#used = 0;
  }
}
