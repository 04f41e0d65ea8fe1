/** What a page and its workers say to each other. Plain data; big arrays are handed over, not copied twice. */
import {
  DTypeError,
  FormatError,
  HeedError,
  OptionError,
  ShapeError,
  UnsupportedError,
} from "../../core/errors.ts";
import type { Places } from "../measures/measures.ts";
import type { Overview } from "../types.ts";
import type { HeadData } from "./head.ts";
import type { Answer, Ask } from "./work.ts";

/** A Worker, a MessagePort, or a worker's own scope. */
export interface Port {
  /** Sends a message; `transfer` lists buffers that move to the receiver. */
  postMessage(message: unknown, transfer?: object[]): void;
  /** Registers a listener for messages or errors. */
  addEventListener(type: string, listener: (event: MessageEvent) => void): void;
  /** MessagePorts with listeners wait for it. */
  start?(): void;
  /** Closes a MessagePort. */
  close?(): void;
  /** Ends a worker. */
  terminate?(): void;
}

export type ToWorker =
  | { readonly type: "head"; readonly key: string; readonly data: HeadData; readonly places: Places }
  | { readonly type: "drop"; readonly key: string }
  | {
      readonly type: "ask";
      readonly id: number;
      readonly key: string;
      readonly ask: Ask;
      readonly urgency: number;
      readonly progress: boolean;
    }
  | { readonly type: "urgency"; readonly urgencies: readonly (readonly [id: number, urgency: number])[] }
  | { readonly type: "cancel"; readonly id: number };

export type FromWorker =
  | { readonly type: "progress"; readonly id: number; readonly done: number; readonly overview?: Overview }
  | { readonly type: "answer"; readonly id: number; readonly answer: Answer }
  | { readonly type: "error"; readonly id: number; readonly error: Failure };

/** An error on its way between threads. */
export interface Failure {
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

/** What a worker needs of a head, in arrays of its own, and those arrays' buffers. Values stay: their norms are enough. */
export function packed(data: HeadData): { data: HeadData; transfer: object[] } {
  const transfer: object[] = [];
  const own = <T extends object>(array: T): T => {
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
      query: query && own(query),
      key: key && own(key),
      weights: weights && { ...weights, data: own(weights.data) },
      value: undefined,
      valueNorm: valueNorm && own(valueNorm),
      keep: keep && { ...keep, data: own(keep.data) },
      bias: bias && own(bias),
      lse: lse && own(lse),
    },
    transfer,
  };
}

/** Bytes a head takes in a worker. */
export function bytesOf({ query, key, weights, valueNorm, keep, bias, lse }: HeadData): number {
  const arrays = [query, key, weights?.data, valueNorm, keep?.data, bias, lse];
  return arrays.reduce((n, x) => n + ((x as ArrayBufferView | undefined)?.byteLength ?? 0), 0);
}

/** Buffers of an answer that can be handed over. */
export function buffersOf(answer: Answer | Overview): object[] {
  const found: object[] = [];
  const visit = (x: unknown): void => {
    if (ArrayBuffer.isView(x)) found.push(x.buffer as ArrayBuffer);
    else if (x !== null && typeof x === "object") Object.values(x).forEach(visit);
  };
  visit(answer);
  return found;
}
