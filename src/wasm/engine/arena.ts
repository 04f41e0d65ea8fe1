/**
 * Room in the engine's memory for the results of a scope (core/room.ts): kernels read and write there in place, and
 * nothing is copied, cleared or collected. One array behind the other in slabs, all given back at once; what a scope
 * needed is one slab for the next.
 */
import type { Room } from "../../core/arena.ts";
import type { Engine } from "./engine.ts";
import { claim } from "./transfer.ts";

/** Numbers behind every array that a kernel may write, as it works on whole vectors. */
const TAIL = 16;
const FIRST_BYTES = 2 ** 22;
/** A scope that needs more gets ordinary arrays for the rest. */
const MOST_BYTES = 2 ** 30;
/** How long memory that nobody uses is kept. */
const KEPT_MS = 1000;

let arena: Arena | undefined;

/** Room for a scope in the engine's memory; undefined where that is not shared, as its arrays would not outlive its growth. */
export function arenaOf(engine: Engine): Arena | undefined {
  if (!engine.memory.shared) return undefined;
  if (arena?.engine !== engine) arena = new Arena(engine);
  return arena;
}

export class Arena implements Room {
  readonly engine: Engine;
  #slabs: { readonly at: number; readonly size: number }[] = [];
  /** Bytes of the last slab that are taken. */
  #used = 0;
  /** Bytes of all slabs. */
  #held = 0;
  /** Bytes of the next slab, at least. */
  #next = FIRST_BYTES;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #buffers = new Set<ArrayBufferLike>();

  constructor(engine: Engine) {
    this.engine = engine;
  }

  take(length: number, behind: number): Float32Array | undefined {
    const { memory } = this.engine;
    const bytes = Math.ceil((4 * (length + behind + TAIL)) / 64) * 64;
    const last = this.#slabs[this.#slabs.length - 1];
    if (last === undefined || this.#used + bytes > last.size) {
      const size = Math.max(bytes, this.#held, this.#next);
      if (this.#held + size > MOST_BYTES) return undefined;
      try {
        this.#slabs.push({ at: memory.alloc(size), size });
      } catch {
        // The memory is full, or the system refused: an ordinary array may still be had, and says so if not.
        return undefined;
      }
      this.#held += size;
      this.#used = 0;
      this.#next = FIRST_BYTES;
    }
    const { at } = this.#slabs[this.#slabs.length - 1];
    const { buffer } = memory.memory;
    if (!this.#buffers.has(buffer)) {
      this.#buffers.add(buffer);
      claim(buffer, memory);
    }
    const data = new Float32Array(buffer, at + this.#used, length);
    this.#used += bytes;
    return data;
  }

  holds(data: ArrayBufferView): boolean {
    return this.#buffers.has(data.buffer);
  }

  reset(): void {
    this.#used = 0;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.free(), KEPT_MS);
    // In Node a timer would keep the process alive.
    (this.#timer as { unref?: () => void }).unref?.();
    if (this.#slabs.length < 2) return;
    // The next `take` makes one slab of what they held together.
    const size = this.#held;
    this.free();
    this.#next = size;
  }

  /** Gives all memory back. */
  free(): void {
    for (const { at } of this.#slabs) this.engine.memory.free(at);
    this.#slabs = [];
    this.#held = this.#used = 0;
  }
}
