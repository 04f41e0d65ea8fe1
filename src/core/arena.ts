/**
 * Allocation of results. Outside a scope every result has its own array. Inside a scope (tidy.ts) results are allocated in
 * an arena, where the backend has one, which is reset when the scope ends. The tensors made in the scope are then
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
  /** The end of the used memory, for `rewind`. */
  position(): ArenaPosition;
  /** Frees all that was allocated since a position except one array, which moves to that position. Returns the moved array. */
  rewind(position: ArenaPosition, survivor: Float32Array): Float32Array;
  /** Frees all of the arena. */
  reset(): void;
}

/** The end of the used memory of an arena. */
export interface ArenaPosition {
  /** Slabs in use, and bytes in use of the last one. */
  readonly slabs: number;
  readonly used: number;
}

/** Key of the method with which a device tensor releases its share of a storage. Not public. */
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
  readonly survivors: Set<Tracked>;
  readonly outer: Scope | undefined;
}

/** The current scope, read as a live binding: outside a scope nothing of this file runs. */
export let activeScope: Scope | undefined;

/** An uninitialized float32 array. The caller writes every element; a kernel may write `padding` more elements after the end. */
export function resultArray(length: number, padding = 0): Float32Array {
  return activeScope?.arena?.allocate(length, padding) ?? new Float32Array(length);
}

/** An array of float32 zeros. */
export function zeroArray(length: number): Float32Array {
  return activeScope?.arena?.allocate(length, 0)?.fill(0) ?? new Float32Array(length);
}

/** True inside a scope. */
export const isScoped = (): boolean => activeScope !== undefined;

/** Runs work as if outside all scopes: its tensors are not disposed with them. */
export function outsideScopes<T>(work: () => T): T {
  const scope = activeScope;
  activeScope = undefined;
  try {
    return work();
  } finally {
    activeScope = scope;
  }
}

/** Lets a tensor outlive all scopes. */
export function keepTensor(tensor: Tracked): void {
  for (let scope = activeScope; scope !== undefined; scope = scope.outer) scope.survivors.add(tensor);
}

/** Undoes `keepTensor`: the tensor is disposed with the current scope. */
export function releaseTensor(tensor: Tracked): void {
  for (let scope = activeScope; scope !== undefined; scope = scope.outer) scope.survivors.delete(tensor);
  activeScope?.tensors.push(tensor);
}

/** Arenas of scopes that have not ended. A scope that begins meanwhile, between two parts of another, has ordinary memory. */
const busy = new Set<Arena>();

/** A scope whose work is done in synchronous parts, between which other code may run: `end` ends it. */
export class PartedScope {
  readonly #scope: Scope;
  readonly #arena: Arena | undefined;

  constructor(arena: Arena | undefined) {
    const outer = activeScope;
    this.#arena = outer || !arena || busy.has(arena) ? undefined : arena;
    this.#scope = { arena: outer ? outer.arena : this.#arena, tensors: [], survivors: new Set(), outer };
    if (this.#arena) busy.add(this.#arena);
  }

  /** Runs a part, with its results in the arena. */
  run<T>(part: () => T): T {
    const before = activeScope;
    activeScope = this.#scope;
    try {
      return part();
    } finally {
      activeScope = before;
    }
  }

  /**
   * Disposes the tensors made in the parts, except `returned`: their elements move to ordinary memory, or the tensors belong to the
   * outer scope.
   */
  end(returned: ReadonlySet<Tracked> = new Set()): void {
    const { tensors, survivors, outer, arena } = this.#scope;
    const moved = new Map<ArrayBufferView, ArrayBufferView>();
    for (const tensor of tensors)
      if (survivors.has(tensor) || returned.has(tensor)) {
        // The array of the outer scope's arena lives as long as that scope.
        if (outer && !survivors.has(tensor)) outer.tensors.push(tensor);
        else moveOut(tensor, arena, moved);
      } else disposeTensor(tensor);
    tensors.length = 0;
    if (this.#arena && busy.delete(this.#arena)) this.#arena.reset();
  }
}

/**
 * Runs `work` with its results in `arena`. Then disposes the tensors made in it, except those that `survivors` finds in the
 * result of `work`.
 */
export function withArena<T>(
  arena: Arena | undefined,
  work: () => T,
  survivors: (result: T) => Iterable<Tracked>,
): T {
  const scope = new PartedScope(arena);
  let returned: ReadonlySet<Tracked> = new Set();
  try {
    const result = scope.run(work);
    returned = new Set(survivors(result));
    return result;
  } finally {
    scope.end(returned);
  }
}

/**
 * Marks a position of the scope. The returned function disposes the tensors made in this scope since then except one, whose
 * elements move to that position, so that a loop over layers uses the same memory for each layer. Only valid where nothing
 * else reads these tensors (no recording). Without an arena it does nothing.
 */
export function reclaimer(): <T extends Tracked>(survivor: T) => T {
  const scope = activeScope;
  const arena = scope?.arena;
  if (!scope || !arena) return (survivor) => survivor;
  const first = scope.tensors.length;
  const position = arena.position();
  return (survivor) => {
    const moved = new Map<ArrayBufferView, ArrayBufferView>();
    for (const tensor of scope.tensors.splice(first))
      if (scope.survivors.has(tensor)) moveOut(tensor, arena, moved);
      else if (tensor !== survivor) disposeTensor(tensor);
    const { storage } = survivor;
    if (scope.survivors.has(survivor)) return survivor;
    scope.tensors.push(survivor);
    if (!ArrayBuffer.isView(storage) || !arena.owns(storage)) return survivor;
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

/** Disposes a tensor: reading its elements throws afterwards. On the CPU `storage` reads `data`. */
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
