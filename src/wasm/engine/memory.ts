/**
 * The linear memory of the engine: constants, control words, kernels, workspaces, staged inputs and outputs, and the
 * tensors of `empty`. First-fit allocation over a sorted list of gaps; addresses stay valid when the memory grows.
 */
import { UnsupportedError } from "../../core/errors.ts";
import { CONSTANTS_AT } from "../codegen/layout.ts";
import { writeConstants } from "../codegen/math.ts";

const PAGE = 65536;
/** Control words are below the constants; the heap begins after both. */
const HEAP_START = CONSTANTS_AT + 4096;
/** Kernels may read a few vectors past a table or a row. */
const READ_PADDING = 256;

/** Linear memory with an allocator. Addresses and sizes are multiples of 64 bytes. */
export class EngineMemory {
  /** @internal Kept out of the published types, which do not need those of the DOM. */
  readonly memory: WebAssembly.Memory;
  readonly shared: boolean;
  /** Maximum size in bytes. */
  readonly maximum: number;
  private gaps: { at: number; size: number }[];
  private readonly sizes = new Map<number, number>();
  private viewed: ArrayBufferLike | undefined;
  private i32view!: Int32Array<ArrayBufferLike>;
  private f32view!: Float32Array<ArrayBufferLike>;
  private u8view!: Uint8Array<ArrayBufferLike>;
  private u16view!: Uint16Array<ArrayBufferLike>;
  /** Maximum bytes in use since `resetPeak`. */
  peak = 0;
  private used = 0;

  constructor(shared: boolean) {
    this.shared = shared;
    // 4 GiB of addresses are reserved, not allocated; where that is refused (small devices), half of it, and so on.
    let maximum = 65536;
    let memory: WebAssembly.Memory | undefined;
    while (!memory)
      try {
        memory = new WebAssembly.Memory({ initial: 16, maximum, shared });
      } catch (error) {
        if (maximum <= 1024) throw error;
        maximum /= 2;
      }
    this.memory = memory;
    this.maximum = maximum * PAGE;
    this.gaps = [{ at: HEAP_START, size: 16 * PAGE - HEAP_START }];
    writeConstants(this.memory.buffer);
  }

  /** Makes new views of the memory after it has grown. */
  private refresh(): void {
    const buffer = this.memory.buffer;
    if (buffer === this.viewed) return;
    this.viewed = buffer;
    this.i32view = new Int32Array(buffer);
    this.f32view = new Float32Array(buffer);
    this.u8view = new Uint8Array(buffer);
    this.u16view = new Uint16Array(buffer);
  }
  get i32(): Int32Array<ArrayBufferLike> {
    this.refresh();
    return this.i32view;
  }
  get f32(): Float32Array<ArrayBufferLike> {
    this.refresh();
    return this.f32view;
  }
  get u8(): Uint8Array<ArrayBufferLike> {
    this.refresh();
    return this.u8view;
  }
  get u16(): Uint16Array<ArrayBufferLike> {
    this.refresh();
    return this.u16view;
  }

  /** Address of a new region of at least `bytes`, not cleared. */
  alloc(bytes: number): number {
    const size = Math.ceil((bytes + READ_PADDING) / 64) * 64;
    let n = 0;
    while (n < this.gaps.length && this.gaps[n].size < size) n++;
    if (n === this.gaps.length) {
      this.grow(size);
      n = this.gaps.length - 1;
    }
    const gap = this.gaps[n];
    const at = gap.at;
    if (gap.size === size) this.gaps.splice(n, 1);
    else {
      gap.at += size;
      gap.size -= size;
    }
    this.sizes.set(at, size);
    this.used += size;
    this.peak = Math.max(this.peak, this.used);
    return at;
  }

  /** Frees a region. */
  free(at: number): void {
    const size = this.sizes.get(at);
    if (size === undefined) return;
    this.sizes.delete(at);
    this.used -= size;
    let n = 0;
    while (n < this.gaps.length && this.gaps[n].at < at) n++;
    const [before, after] = [this.gaps[n - 1], this.gaps[n]];
    const joinsAfter = after !== undefined && at + size === after.at;
    if (before !== undefined && before.at + before.size === at) {
      before.size += size + (joinsAfter ? after.size : 0);
      if (joinsAfter) this.gaps.splice(n, 1);
    } else if (joinsAfter) {
      after.at = at;
      after.size += size;
    } else this.gaps.splice(n, 0, { at, size });
  }

  /** Resets the peak to the bytes in use; returns them. */
  resetPeak(): number {
    this.peak = this.used;
    return this.used;
  }

  private grow(size: number): void {
    const end = this.memory.buffer.byteLength;
    const last = this.gaps[this.gaps.length - 1];
    const free = last && last.at + last.size === end ? last.size : 0;
    const pages = Math.ceil((size - free) / PAGE);
    if (end + pages * PAGE > this.maximum)
      throw new UnsupportedError(
        "memory",
        `the engine needs ${size} more bytes, but its memory has ${end} of at most ${this.maximum}; lower configure({ bytesPerThread }) or free tensors made with empty()`,
        { requested: size, allocated: end, allowed: this.maximum },
      );
    try {
      this.memory.grow(pages);
    } catch (cause) {
      throw Object.assign(
        new UnsupportedError(
          "memory",
          `the system refused ${pages * PAGE} more bytes; the engine has allocated ${end}`,
          { requested: pages * PAGE, allocated: end, allowed: this.maximum },
        ),
        { cause },
      );
    }
    if (free) last.size += pages * PAGE;
    else this.gaps.push({ at: end, size: pages * PAGE });
  }
}

let finalizers: FinalizationRegistry<{ readonly memory: EngineMemory; readonly at: number }> | undefined;

/** Frees a region when `owner` is garbage-collected. */
export function freeWithOwner(owner: object, memory: EngineMemory, at: number): void {
  finalizers ??= new FinalizationRegistry((region) => region.memory.free(region.at));
  finalizers.register(owner, { memory, at }, owner);
}

/** Undoes `freeWithOwner`. */
export const detachOwner = (owner: object): void => void finalizers?.unregister(owner);

/** Allocations that are freed together. */
export class AllocationScope {
  private readonly memory: EngineMemory;
  private readonly addresses: number[] = [];
  constructor(memory: EngineMemory) {
    this.memory = memory;
  }
  alloc(bytes: number): number {
    const at = this.memory.alloc(bytes);
    this.addresses.push(at);
    return at;
  }
  /** Frees the last region first: it borders on the gap that it was taken from. */
  free(): void {
    while (this.addresses.length > 0) this.memory.free(this.addresses.pop() as number);
  }
}
