/** The device `"webgpu"`: storage of tensors on a GPU, and the session that runs their work. */
import type { Device, TensorStorage } from "../core/device/device.ts";
import { tensorOver } from "../core/device/tensor.ts";
import { DTYPES, type DType, type TypedData } from "../core/dtype.ts";
import { UnsupportedError } from "../core/errors.ts";
import { sizeOf, type Tensor } from "../core/tensor.ts";
import type { LevelName } from "./levels.ts";
import { GpuStorage } from "./memory.ts";
import { copyView } from "./ops/copy.ts";
import { GpuSession } from "./session.ts";

/** Milliseconds in which a device that is lost says so. */
const LOSS = 200;

/** How kernels are tested: this file knows none of them. */
export interface SelfTests {
  /** Chooses the level of a session by tests, before anything else runs; throws where the adapter computes wrong numbers. */
  begin(session: GpuSession, level: LevelName | undefined): Promise<void>;
  /** Runs a copy of elements of some bytes; at the first use its kernel is tested. */
  copy(session: GpuSession, bytes: number, work: () => void): void;
}

/** The session, once started, and how to start one. */
interface SessionState {
  gpu?: GPU;
  memoryLimit?: number;
  session?: GpuSession;
  starting?: Promise<GpuSession>;
  tests?: SelfTests;
  level?: LevelName;
}
const state: SessionState = {};

/**
 * Starts a session on an adapter of `gpu`, by default of the last one; a session that is not lost is kept. An adapter computes only after
 * it passed the self-test, once a process.
 */
export async function start(gpu: GPU | undefined, tests?: SelfTests, level?: LevelName): Promise<GpuSession> {
  if (gpu && gpu !== state.gpu) {
    state.gpu = gpu;
    state.session = state.starting = state.level = undefined;
  }
  if (tests) state.tests = tests;
  const { level: before } = state;
  // Later calls do not repeat a request that was refused.
  const restore = (error: unknown): never => {
    state.level = before;
    throw error;
  };
  const isChanged = level !== undefined && level !== state.session?.level.name;
  if (level !== undefined) state.level = level;
  // A loss that has happened is known after this.
  if (state.session) await Promise.race([state.session.device.lost, undefined]);
  if (!state.starting && state.session && state.session.lost === undefined) {
    if (isChanged) await state.tests?.begin(state.session, level).catch(restore);
    return state.session;
  }
  if (!state.gpu) throw notStarted();
  state.starting ??= begin(state.gpu);
  try {
    return await state.starting.catch(restore);
  } finally {
    state.starting = undefined;
  }
}

/** A new session, on an adapter that computes rightly. */
async function begin(gpu: GPU): Promise<GpuSession> {
  const begun = await GpuSession.start(gpu);
  begun.memory.allowed = state.memoryLimit ?? Infinity;
  const { session: lost } = state;
  // Choices of tune outlive a loss.
  if (lost?.name === begun.name) for (const [chunks, tile] of lost.tiles) begun.tiles.set(chunks, tile);
  state.session = begun;
  try {
    await state.tests?.begin(begun, state.level);
  } catch (error) {
    begun.device.destroy();
    if (state.session === begun) state.session = undefined;
    throw error;
  }
  return begun;
}

/** Limits the bytes of GPU memory, of this session and of those after a loss. */
export function limitMemory(bytes: number): void {
  state.memoryLimit = bytes;
  if (state.session) state.session.memory.allowed = bytes;
}

/** Ends the session: its tensors are gone. */
export function stop(): void {
  state.session?.device.destroy();
  state.session = state.gpu = state.memoryLimit = state.level = undefined;
}

/** The session that runs. */
export function session(): GpuSession {
  if (!state.session) throw notStarted();
  state.session.check();
  return state.session;
}

const notStarted = (): UnsupportedError =>
  new UnsupportedError(
    "device",
    'the device "webgpu" is not started; call await webgpu() of heed/webgpu first',
  );

/** A storage with any contents. */
export const uninitialized = (dtype: DType, length: number): GpuStorage =>
  new GpuStorage(device, dtype, length, session().memory);

/** A tensor of float32 with any contents. */
export const float32 = (shape: readonly number[]): Tensor<"float32"> =>
  tensorOver(uninitialized("float32", sizeOf(shape)), shape, "float32");

const bytesOf = ({ dtype, length }: { dtype: DType; length: number }): number => DTYPES[dtype].bytes * length;

/** The storage of a tensor of this device, as its session knows it. */
export function gpuStorage(storage: TensorStorage): GpuStorage {
  const gpu = storage as GpuStorage;
  if (gpu.memory !== state.session?.memory)
    throw new UnsupportedError(
      "device-lost",
      'a tensor of the device "webgpu" belongs to a session that was lost or ended; move its numbers from the CPU again',
    );
  return gpu;
}

/** The device. */
export const device: Device = {
  name: "webgpu",
  async prepare() {
    await start(undefined);
  },
  allocate(dtype, length) {
    const storage = uninitialized(dtype, length);
    session().queue.clear(storage.buffer);
    return storage;
  },
  write(target, values) {
    const { buffer } = gpuStorage(target);
    const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    if (bytes.length === 0) return;
    const isWords = bytes.length % 4 === 0;
    const words = isWords ? bytes : new Uint8Array(Math.ceil(bytes.length / 4) * 4);
    if (!isWords) words.set(bytes);
    session().queue.write(buffer, words);
  },
  async read(source) {
    const storage = gpuStorage(source);
    const current = session();
    const { array } = DTYPES[storage.dtype];
    try {
      const bytes = await current.queue.read(storage.buffer, bytesOf(storage));
      return new array(bytes) as TypedData;
    } catch (error) {
      // A loss rejects the read first, and tells its reason a moment later.
      await Promise.race([current.device.lost, new Promise((resolve) => setTimeout(resolve, LOSS))]);
      current.check();
      throw error;
    }
  },
  copy(source, shape, strides, offset) {
    const from = gpuStorage(source);
    const target = uninitialized(from.dtype, sizeOf(shape));
    const run = () => copyView(session(), from, { shape, strides, offset }, target);
    if (state.tests) state.tests.copy(session(), DTYPES[from.dtype].bytes, run);
    else run();
    return target;
  },
  dispose(storage) {
    const gpu = storage as GpuStorage;
    gpu.memory.dispose(gpu);
  },
};
