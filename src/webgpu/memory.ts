/**
 * Memory of a device: buffers (buffers of a few sizes) that are reused after `dispose`, and storages of tensors over them. A buffer
 * that is reused while the work of its former tensor is still in the queue is safe, because the queue runs in order.
 */

import { bytesText } from "../backend/plan/plan.ts";
import type { Device, DeviceData } from "../core/device/device.ts";
import { DTYPES, type DType } from "../core/dtype.ts";
import { UnsupportedError } from "../core/errors.ts";
import { type PooledBuffer, type Queue, USAGE } from "./queue.ts";

/** Storage of a tensor. */
export class GpuStorage implements DeviceData {
  readonly device: Device;
  readonly dtype: DType;
  readonly length: number;
  readonly memory: Memory;
  readonly buffer: PooledBuffer;

  constructor(device: Device, dtype: DType, length: number, memory: Memory) {
    this.device = device;
    this.dtype = dtype;
    this.length = length;
    this.memory = memory;
    this.buffer = memory.acquire(length * DTYPES[dtype].bytes);
    memory.watch(this);
  }
}

/** Bytes of free buffers that are kept for later tensors. */
const MAX_FREE = 2 ** 28;

/** The buffers of a device. */
export class Memory {
  /** Bytes of all buffers, those of tensors and free ones. */
  bytes = 0;
  /** The most bytes that they may take. */
  allowed = Infinity;
  private freeBytes = 0;
  private readonly free = new Map<number, PooledBuffer[]>();
  private readonly device: GPUDevice;
  private readonly queue: Queue;
  private readonly limit: number;
  /** A net for storages that nobody disposes. */
  private readonly collected = new FinalizationRegistry((buffer: PooledBuffer) => this.release(buffer));

  constructor(device: GPUDevice, queue: Queue) {
    this.device = device;
    this.queue = queue;
    this.limit = Math.min(device.limits.maxBufferSize, device.limits.maxStorageBufferBindingSize);
  }

  /** A buffer of at least `bytes`, with any contents. */
  acquire(bytes: number): PooledBuffer {
    if (bytes > this.limit)
      throw new UnsupportedError(
        "device-limit",
        `the device "webgpu": a tensor of ${bytesText(bytes)} is larger than a buffer of this adapter may be, ${bytesText(this.limit)}; divide it, for example over heads or batch entries`,
        { bytes, limit: this.limit },
      );
    const size = Math.min(sizeClass(bytes), Math.floor(this.limit / 4) * 4);
    const buffer = this.free.get(size)?.pop();
    if (buffer) {
      this.freeBytes -= size;
      buffer.written = 0;
      buffer.error = undefined;
      buffer.verdicts = [];
      return buffer;
    }
    if (this.bytes + size > this.allowed) this.trim();
    if (this.bytes + size > this.allowed)
      throw new UnsupportedError(
        "memory",
        `the device "webgpu": a tensor of ${bytesText(bytes)} does not fit: tensors take ${bytesText(this.bytes)} of the ${bytesText(this.allowed)} that memoryLimit allows; release tensors with dispose or tidy, or raise the limit: await webgpu({ memoryLimit })`,
        { requested: size, allocated: this.bytes, allowed: this.allowed },
      );
    this.queue.open();
    this.bytes += size;
    const usage = USAGE.storage | USAGE.copySource | USAGE.copyTarget;
    const handle = this.device.createBuffer({ size, usage });
    // Its creation fails with the batch that is open.
    return { handle, bytes: size, batch: 0, written: this.queue.batch, error: undefined, verdicts: [] };
  }

  /** Returns a buffer: kept for later, or destroyed where enough are free. */
  release(buffer: PooledBuffer): void {
    const { bytes } = buffer;
    if (this.freeBytes + bytes > MAX_FREE) {
      if (buffer.batch === this.queue.batch) this.queue.flush();
      buffer.handle.destroy();
      this.bytes -= bytes;
      return;
    }
    this.freeBytes += bytes;
    const same = this.free.get(bytes);
    if (same) same.push(buffer);
    else this.free.set(bytes, [buffer]);
  }

  /** Destroys the free buffers, after the work that uses them is submitted. */
  private trim(): void {
    this.queue.flush();
    for (const { handle } of [...this.free.values()].flat()) handle.destroy();
    this.free.clear();
    this.bytes -= this.freeBytes;
    this.freeBytes = 0;
  }

  /** Releases the buffer of a storage when the storage is collected. */
  watch(storage: GpuStorage): void {
    this.collected.register(storage, storage.buffer, storage);
  }

  /** Releases the buffer of a storage that is disposed. */
  dispose(storage: GpuStorage): void {
    this.collected.unregister(storage);
    this.release(storage.buffer);
  }
}

/** The size of a buffer: four sizes for each power of two, at least 256 bytes. */
function sizeClass(bytes: number): number {
  if (bytes <= 256) return 256;
  const step = 2 ** (Math.ceil(Math.log2(bytes)) - 3);
  return Math.ceil(bytes / step) * step;
}
