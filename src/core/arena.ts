/**
 * Where results are allocated. Outside a scope every result has an array of its own. Inside a scope (tidy.ts) results come
 * from an arena where the backend has one, which is reset when the scope ends. The tensors made in the scope are then
 * disposed, and reading one throws.
 *
 * This file holds the interface only; a backend owns the memory.
 */
import { HeedError } from "./errors.ts";

/** Memory that holds the results of one scope. */
export interface Arena {
  /** An uninitialized array followed by `padding` writable elements; undefined where the arena is full. */
  allocate(length: number, padding: number): Float32Array | undefined;
  /** True for an array that this arena allocated. */
  owns(data: ArrayBufferView): boolean;
  /** How far the arena is used, for `rewind`. */
  position(): ArenaPosition;
  /** Makes all that was allocated since a position available again, but for one array, which moves to the position. Returns the array there. */
  rewind(position: ArenaPosition, survivor: Float32Array): Float32Array;
  /** Makes all of the arena available again. */
  reset(): void;
}

/** A place in an arena. */
export interface ArenaPosition {
  /** Slabs in use, and bytes of the last one. */
  readonly slabs: number;
  readonly used: number;
}

/** Name of the method by which a tensor of a device gives up its share of a storage; users do not see it. */
export const RELEASE: unique symbol = /* @__PURE__ */ Symbol("release");

interface Tracked {
  readonly storage: object;
  [RELEASE]?(): void;
}

interface Scope {
  /** Memory for float32 results; undefined where the backend has none, or in a scope inside another. */
  readonly arena: Arena | undefined;
  /** All tensors made in the scope. */
  readonly tensors: Tracked[];
  /** Tensors that outlive the scope. */
  readonly kept: Set<Tracked>;
  readonly outer: Scope | undefined;
}

let scope: Scope | undefined;

/** An uninitialized float32 array. The caller writes every element; with `padding`, a kernel may write as many elements after the end. */
export function resultArray(length: number, padding = 0): Float32Array {
  return scope?.arena?.allocate(length, padding) ?? new Float32Array(length);
}

/** An array of float32 zeros. */
export function zeroArray(length: number): Float32Array {
  return scope?.arena?.allocate(length, 0)?.fill(0) ?? new Float32Array(length);
}

/** True inside a scope. */
export const isScoped = (): boolean => scope !== undefined;

/** Registers a new tensor with the scope, if there is one. */
export function trackTensor(tensor: Tracked): void {
  scope?.tensors.push(tensor);
}

/** Lets a tensor outlive all scopes. */
export function keepTensor(tensor: Tracked): void {
  for (let own = scope; own !== undefined; own = own.outer) own.kept.add(tensor);
}

/**
 * Runs `work` with its results in `arena`. When it ends, the tensors made in it are disposed of, but for those that
 * `survivors` names in what `work` returned: their elements move to ordinary memory, or to the outer scope.
 */
export function withArena<T>(
  arena: Arena | undefined,
  work: () => T,
  survivors: (result: T) => Iterable<Tracked>,
): T {
  const outer = scope;
  const own: Scope = { arena: outer ? outer.arena : arena, tensors: [], kept: new Set(), outer };
  scope = own;
  let returned: ReadonlySet<Tracked> = new Set();
  try {
    const result = work();
    returned = new Set(survivors(result));
    return result;
  } finally {
    scope = outer;
    const moved = new Map<ArrayBufferView, ArrayBufferView>();
    for (const tensor of own.tensors)
      if (own.kept.has(tensor) || returned.has(tensor)) {
        // The array of the outer scope's arena lives as long as that scope.
        if (outer && !own.kept.has(tensor)) outer.tensors.push(tensor);
        else moveOut(tensor, own.arena, moved);
      } else disposeTensor(tensor);
    if (!outer) arena?.reset();
  }
}

/**
 * A point of the scope to go back to: the function that it returns disposes of the tensors made in this scope since then, but for one,
 * whose elements move to that point, so that a loop over layers uses the same memory for each. Only where nothing else reads what was
 * made (no recording). Without an arena nothing happens.
 */
export function reclaimer(): <T extends Tracked>(survivor: T) => T {
  const own = scope;
  const arena = own?.arena;
  if (!own || !arena) return (survivor) => survivor;
  const first = own.tensors.length;
  const position = arena.position();
  return (survivor) => {
    const moved = new Map<ArrayBufferView, ArrayBufferView>();
    for (const tensor of own.tensors.splice(first))
      if (own.kept.has(tensor)) moveOut(tensor, arena, moved);
      else if (tensor !== survivor) disposeTensor(tensor);
    const { storage } = survivor;
    if (own.kept.has(survivor) || !ArrayBuffer.isView(storage)) return survivor;
    own.tensors.push(survivor);
    if (!arena.owns(storage)) return survivor;
    const value = arena.rewind(position, storage as Float32Array);
    Object.defineProperty(survivor, "data", { value, enumerable: true, configurable: true });
    return survivor;
  };
}

/** Copies an array out of the arena; views of one array share the copy. */
function moveOut(
  tensor: Tracked,
  arena: Arena | undefined,
  moved: Map<ArrayBufferView, ArrayBufferView>,
): void {
  const { storage } = tensor;
  if (!ArrayBuffer.isView(storage) || !arena?.owns(storage)) return;
  const copy = moved.get(storage) ?? (storage as Float32Array).slice();
  moved.set(storage, copy);
  Object.defineProperty(tensor, "data", { value: copy, enumerable: true, configurable: true });
}

/** Makes every later reading of the elements an error. On the CPU `storage` reads `data`. */
export function disposeTensor(tensor: Tracked): void {
  if (Object.getOwnPropertyDescriptor(tensor, "data")?.get === throwDisposed) return;
  tensor[RELEASE]?.();
  const isOnDevice = !ArrayBuffer.isView(tensor.storage);
  Object.defineProperty(tensor, "data", { get: throwDisposed });
  if (isOnDevice) Object.defineProperty(tensor, "storage", { get: throwDisposed });
}

function throwDisposed(): never {
  throw new HeedError(
    "disposed",
    "this tensor was disposed when its tidy() scope ended, or by dispose(); return it from the scope, keep(tensor) it, or copy its values",
  );
}
