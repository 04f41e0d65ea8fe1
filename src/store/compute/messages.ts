/** Messages between a page and its workers. Plain data; buffers of large arrays are transferred, not cloned. */
import {
  DTypeError,
  FormatError,
  HeedError,
  OptionError,
  ShapeError,
  UnsupportedError,
} from "../../core/errors.ts";
import type { Places } from "../measures/measures.ts";
import type { Overview } from "../measures/pool.ts";
import type { HeadArrays } from "./head.ts";
import type { HeadRequest, RequestAnswer } from "./request.ts";

/** A Worker, a MessagePort, or a worker's own scope. */
export interface Port {
  /** Sends a message; `transfer` lists buffers that move to the receiver. */
  postMessage(message: unknown, transfer?: object[]): void;
  /** Registers a listener for messages or errors. */
  addEventListener(type: string, listener: (event: MessageEvent) => void): void;
  /** Starts a MessagePort, which delivers no messages to listeners before. */
  start?(): void;
  /** Closes a MessagePort. */
  close?(): void;
  /** Ends a worker. */
  terminate?(): void;
}

export type ToWorker =
  | { readonly type: "head"; readonly key: string; readonly data: HeadArrays; readonly places: Places }
  | { readonly type: "drop"; readonly key: string }
  | {
      readonly type: "request";
      readonly id: number;
      readonly key: string;
      readonly request: HeadRequest;
      readonly urgency: number;
      readonly progress: boolean;
    }
  | { readonly type: "urgency"; readonly urgencies: readonly (readonly [id: number, urgency: number])[] }
  | { readonly type: "cancel"; readonly id: number }
  | { readonly type: "device"; readonly use: DeviceUse };

/** Which device computes passes: the CPU, the GPU, or a GPU where it is faster. */
export type DeviceUse = "auto" | "gpu" | "cpu";

/** The device that computes, in words: "GPU: NVIDIA …", or "CPU: " and the reason. `failed`: it computed until it failed. */
export interface DeviceState {
  readonly text: string;
  readonly failed: boolean;
}

export type FromWorker =
  | ({ readonly type: "device" } & DeviceState)
  | { readonly type: "progress"; readonly id: number; readonly done: number; readonly overview?: Overview }
  | { readonly type: "answer"; readonly id: number; readonly answer: RequestAnswer }
  | { readonly type: "error"; readonly id: number; readonly error: Failure };

/** An error as plain data, which can be posted between threads. */
interface Failure {
  readonly name: string;
  readonly code: string;
  readonly message: string;
}

const KINDS = { DTypeError, FormatError, OptionError, ShapeError, UnsupportedError };

export function failureOf(error: unknown): Failure {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  return { name, message, code: error instanceof HeedError ? error.code : "worker" };
}

export function errorOf({ name, code, message }: Failure): HeedError {
  const kind = Object.hasOwn(KINDS, name) ? KINDS[name as keyof typeof KINDS] : HeedError;
  return new kind(code, message);
}

/** Copies the data that a worker needs of a head, and lists the buffers to transfer. Values are left out: their norms are enough. */
export function packed(data: HeadArrays): { data: HeadArrays; transfer: object[] } {
  const transfer: object[] = [];
  const copyOf = <T extends object>(array: T): T => {
    const view = array as unknown as Float64Array<ArrayBuffer>;
    if (typeof SharedArrayBuffer !== "undefined" && (view.buffer as unknown) instanceof SharedArrayBuffer)
      return array;
    const copy = view.slice();
    transfer.push(copy.buffer);
    return copy as unknown as T;
  };
  const { query, key, weights, valueNorm, keep, bias, lse } = data;
  return {
    data: {
      ...data,
      query: query && copyOf(query),
      key: key && copyOf(key),
      weights: weights && { ...weights, data: copyOf(weights.data) },
      value: undefined,
      valueNorm: valueNorm && copyOf(valueNorm),
      keep: keep && { ...keep, data: copyOf(keep.data) },
      bias: bias && copyOf(bias),
      lse: lse && copyOf(lse),
    },
    transfer,
  };
}

/** Bytes of a head's data in a worker. */
export function bytesOf({ query, key, weights, valueNorm, keep, bias, lse }: HeadArrays): number {
  const arrays = [query, key, weights?.data, valueNorm, keep?.data, bias, lse];
  return arrays.reduce((n, x) => n + ((x as ArrayBufferView | undefined)?.byteLength ?? 0), 0);
}

/** Buffers of an answer that can be transferred. */
export function buffersOf(answer: RequestAnswer | Overview): object[] {
  const buffers: object[] = [];
  const visit = (x: unknown): void => {
    if (ArrayBuffer.isView(x)) buffers.push(x.buffer as ArrayBuffer);
    else if (x !== null && typeof x === "object") Object.values(x).forEach(visit);
  };
  visit(answer);
  return buffers;
}
