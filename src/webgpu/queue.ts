/**
 * The queue of a device. Operations are recorded into one command buffer, a batch, which is submitted when a result is read, when it is
 * long, or when the calling code returns to the event loop. The parameters of its kernels are stored in one uniform buffer.
 *
 * Errors of a GPU arrive late: an error scope surrounds each batch, and what the batch wrote or later batches read from it is then
 * refused by `read`.
 */
import { UnsupportedError } from "../core/errors.ts";

/** Bits of GPUBufferUsage; the global object has them only where WebGPU is built in. */
export const USAGE = { mapRead: 1, copySource: 4, copyTarget: 8, uniform: 64, storage: 128 } as const;

/** Bytes of the uniform buffer, and the alignment that every device accepts. */
const UNIFORM_BYTES = 65536;
const ALIGNMENT = 256;
/** Kernels after which a batch is submitted. */
const LONG_BATCH = 128;

/** Whether a kernel passed its self-test on this adapter; open until its results are read. */
export interface KernelVerdict {
  isOpen: boolean;
  fault: Error | undefined;
  done: Promise<unknown>;
}

const NO_VERDICTS: readonly KernelVerdict[] = Object.freeze([]);

/** A buffer of a device. */
export interface PooledBuffer {
  readonly handle: GPUBuffer;
  readonly bytes: number;
  /** The batch that used it last. */
  batch: number;
  /** The batch that wrote it last, and why its numbers are not valid. */
  written: number;
  error: string | undefined;
  /** Those of the kernels that its numbers depend on, as far as they were open. */
  verdicts: readonly KernelVerdict[];
}

/** A compiled kernel. */
export interface Compiled {
  readonly text: string;
  readonly pipeline: GPUComputePipeline;
  readonly layout: GPUBindGroupLayout;
  /** That of its self-test; undefined before its first use in an operation. */
  verdict: KernelVerdict | undefined;
}

/** A dispatch of a kernel. */
export interface Dispatch {
  readonly kernel: Compiled;
  readonly buffers: readonly PooledBuffer[];
  /** For each buffer whether the kernel writes it. */
  readonly writes: readonly boolean[];
  readonly params: Uint32Array;
  readonly workgroups: readonly [number, number];
}

/** Records operations and submits them in order. */
export class Queue {
  /** Number of the current batch. */
  batch = 1;
  /** Kernels dispatched so far. */
  dispatches = 0;
  /** The kernels that the operation being recorded uses first; undefined outside of operations, where no verdict counts. */
  fresh: Compiled[] | undefined;
  /** The kernels that a self-test uses. */
  tested: Set<Compiled> | undefined;
  private readonly device: GPUDevice;
  private readonly uniforms: GPUBuffer;
  private readonly values = new Uint32Array(UNIFORM_BYTES / 4);
  private used = 0;
  private count = 0;
  private encoder: GPUCommandEncoder | undefined;
  private pass: GPUComputePassEncoder | undefined;
  private pending: Promise<unknown> = Promise.resolve();
  /** Errors of batches: what was written from batch `first` until `last`, where the error arrived, is not valid. */
  private readonly errors: { readonly first: number; readonly last: number; readonly text: string }[] = [];
  /** Messages of the driver that say it has no memory left. */
  private readonly noMemory = new Set<string>();

  constructor(device: GPUDevice) {
    this.device = device;
    this.uniforms = device.createBuffer({ size: UNIFORM_BYTES, usage: USAGE.uniform | USAGE.copyTarget });
  }

  /** Opens the batch: everything that can fail is inside its error scopes. */
  open(): GPUCommandEncoder {
    if (this.encoder) return this.encoder;
    for (const filter of ["internal", "out-of-memory", "validation"] as const)
      this.device.pushErrorScope(filter);
    this.encoder = this.device.createCommandEncoder();
    const { batch } = this;
    queueMicrotask(() => {
      if (this.batch === batch) this.flush();
    });
    return this.encoder;
  }

  /** Records a kernel. */
  dispatch({ kernel, buffers, writes, params, workgroups }: Dispatch): void {
    const { fresh } = this;
    if (fresh && !kernel.verdict) {
      kernel.verdict = fresh[0]?.verdict ?? { isOpen: true, fault: undefined, done: Promise.resolve() };
      fresh.push(kernel);
    }
    const verdict = fresh && kernel.verdict;
    if (verdict?.fault && !verdict.isOpen) throw verdict.fault;
    this.tested?.add(kernel);
    const bytes = Math.ceil(Math.max(4 * params.length, 16) / ALIGNMENT) * ALIGNMENT;
    if (this.used + bytes > UNIFORM_BYTES || this.count >= LONG_BATCH) this.flush();
    const encoder = this.open();
    this.values.set(params, this.used / 4);
    const storages = buffers.map(({ handle }) => ({ buffer: handle }));
    const uniform = { buffer: this.uniforms, offset: this.used, size: bytes };
    const entries = [uniform, ...storages].map((resource, binding) => ({ binding, resource }));
    this.pass ??= encoder.beginComputePass();
    this.pass.setPipeline(kernel.pipeline);
    this.pass.setBindGroup(0, this.device.createBindGroup({ layout: kernel.layout, entries }));
    this.pass.dispatchWorkgroups(...workgroups);
    this.used += bytes;
    this.count++;
    this.dispatches++;
    const error = buffers.map((buffer) => this.errorOf(buffer)).find((text) => text !== undefined);
    const verdicts = this.verdictsOf(buffers, verdict?.isOpen ? verdict : undefined);
    buffers.forEach((buffer, n) => this.use(buffer, writes[n], error, verdicts));
  }

  /** Records a fill with zeros. */
  clear(buffer: PooledBuffer): void {
    this.outsidePass().clearBuffer(buffer.handle);
    this.use(buffer, true);
  }

  /** Records a copy of bytes, in multiples of 4. */
  copy(source: PooledBuffer, target: PooledBuffer, targetOffset: number, bytes: number): void {
    if (bytes > 0)
      this.outsidePass().copyBufferToBuffer(source.handle, 0, target.handle, targetOffset, bytes);
    this.use(target, true, this.errorOf(source), this.verdictsOf([source]));
    this.use(source, false);
  }

  /** Writes bytes, in multiples of 4. A write runs before the current batch, so a buffer of the batch submits it first. */
  write(buffer: PooledBuffer, bytes: Uint8Array, offset = 0): void {
    if (buffer.batch === this.batch) this.flush();
    this.open();
    this.device.queue.writeBuffer(buffer.handle, offset, bytes as Uint8Array<ArrayBuffer>);
    this.use(buffer, true);
  }

  /** Submits the batch. */
  flush(): void {
    const { encoder, batch } = this;
    if (!encoder) return;
    this.pass?.end();
    if (this.used > 0) this.device.queue.writeBuffer(this.uniforms, 0, this.values, 0, this.used / 4);
    this.device.queue.submit([encoder.finish()]);
    this.encoder = this.pass = undefined;
    this.used = this.count = 0;
    this.batch++;
    const scopes = Promise.all([0, 1, 2].map(() => this.device.popErrorScope()));
    const settled = scopes.then(
      (errors) => {
        // In the order of their scopes: validation, out of memory, internal. A lack of memory makes buffers invalid as well.
        const error = errors[1] ?? errors.find((e) => e !== null);
        if (errors[1]) this.noMemory.add(errors[1].message);
        // A batch that is not open yet has recorded nothing.
        const last = this.encoder ? this.batch : this.batch - 1;
        if (error) this.errors.push({ first: batch, last, text: error.message });
      },
      // A lost device rejects nothing else: device.lost has the reason.
      () => undefined,
    );
    this.pending = Promise.all([this.pending, settled]);
  }

  /** The first `bytes` of a buffer, once everything recorded so far has run. */
  async read(buffer: PooledBuffer, bytes: number): Promise<ArrayBuffer> {
    const size = Math.ceil(Math.max(bytes, 4) / 4) * 4;
    const encoder = this.outsidePass();
    const verdicts = buffer.verdicts;
    const staging = this.device.createBuffer({ size, usage: USAGE.mapRead | USAGE.copyTarget });
    encoder.copyBufferToBuffer(buffer.handle, 0, staging, 0, size);
    this.flush();
    try {
      await staging.mapAsync(1);
      await this.pending;
      for (const verdict of verdicts) {
        await verdict.done;
        if (verdict.fault) throw verdict.fault;
      }
      this.check(buffer);
      return staging.getMappedRange().slice(0, bytes);
    } finally {
      staging.destroy();
    }
  }

  /** Throws where the numbers of a buffer are not valid. */
  private check(buffer: PooledBuffer): void {
    const reason = this.errorOf(buffer);
    if (reason === undefined) return;
    const full = this.noMemory.has(reason);
    throw new UnsupportedError(
      full ? "memory" : "device",
      `the device "webgpu" ${full ? "has no memory for" : "could not run the work of"} this tensor: ${reason.split("\n")[0]}${full ? "; release tensors with dispose or tidy, or divide the call over heads or rows" : ""}`,
      { reason },
    );
  }

  /** Why the numbers of a buffer are not valid: the error of the batch that wrote it, or of what that batch read. */
  private errorOf({ written, error }: PooledBuffer): string | undefined {
    return error ?? this.errors.find(({ first, last }) => written >= first && written <= last)?.text;
  }

  /** The verdicts that numbers computed from these buffers depend on. */
  private verdictsOf(buffers: readonly PooledBuffer[], open?: KernelVerdict): readonly KernelVerdict[] {
    if (!open && buffers.every(({ verdicts }) => verdicts.length === 0)) return NO_VERDICTS;
    const all = new Set([...(open ? [open] : []), ...buffers.flatMap(({ verdicts }) => verdicts)]);
    return [...all].filter(({ isOpen, fault }) => isOpen || fault);
  }

  private use(
    buffer: PooledBuffer,
    writes: boolean,
    error?: string,
    verdicts: readonly KernelVerdict[] = NO_VERDICTS,
  ): void {
    buffer.batch = this.batch;
    if (!writes) return;
    buffer.written = this.batch;
    buffer.error = error;
    buffer.verdicts = verdicts;
  }

  private outsidePass(): GPUCommandEncoder {
    const encoder = this.open();
    this.pass?.end();
    this.pass = undefined;
    return encoder;
  }
}
