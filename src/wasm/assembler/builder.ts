/**
 * Functions and modules. What happens while a kernel is built is plain TypeScript (`for`, `if`); what happens while it
 * runs is a method of the function builder (`f.loop`, `f.when`). The module imports one memory and exports functions.
 */
import * as i32 from "./i32.ts";
import type { Code, I32Value, V128Value, ValueOperand, ValueType } from "./value.ts";
import { operand, TYPE, unsigned, Value } from "./value.ts";

/** Stores: opcode and log2 of the natural alignment. */
export const STORES = {
  "i32.store": { type: "i32", code: [0x36], align: 2 },
  "f32.store": { type: "f32", code: [0x38], align: 2 },
  "f64.store": { type: "f64", code: [0x39], align: 3 },
  "v128.store": { type: "v128", code: [0xfd, 0x0b], align: 4 },
} as const;

/** A local variable of a function. */
export class Local<T extends ValueType = ValueType> extends Value<T> {
  readonly index: number;
  constructor(type: T, index: number) {
    super(type, [0x20, unsigned(index)]);
    this.index = index;
  }
}

/** A function of the module, which other functions can call. */
export interface Func {
  readonly name: string;
  readonly index: number;
  readonly params: readonly ValueType[];
  /** Names of the parameters, in order. */
  readonly names: readonly string[];
  readonly result?: ValueType;
}

/** Operands of a call by the names of the parameters. */
export type NamedOperands = Readonly<Record<string, Value | number>>;

/** Builds the body of a function. */
export class FunctionBuilder {
  /** Code so far; blocks push into their own list. */
  private code: (number | Code)[] = [];
  private depth = 0;
  readonly locals: ValueType[];
  private readonly params: number;
  private readonly scoped: boolean;
  private zero: Local<"v128"> | undefined;

  constructor(params: readonly ValueType[], scoped: boolean) {
    this.locals = [...params];
    this.params = params.length;
    this.scoped = scoped;
  }

  /** A new local. It is 0 at the start of the function only: in a loop, set it before use. */
  local<T extends ValueType>(type: T): Local<T> {
    this.locals.push(type);
    return new Local(type, this.locals.length - 1);
  }

  /** A new local, set to `value`. */
  let<T extends ValueType>(value: Value<T>): Local<T> {
    const x = this.local(value.type);
    this.set(x, value as ValueOperand<T>);
    return x;
  }

  /** The value in a local; the value itself where it is a local. */
  once<T extends ValueType>(value: Value<T>): Local<T> {
    return value instanceof Local ? value : this.let(value);
  }

  /** A new i32 local, set to `value`. */
  int(value: I32Value | number): Local<"i32"> {
    return this.let(operand("i32", value));
  }

  set<T extends ValueType>(x: Local<T>, value: ValueOperand<T>): void {
    this.code.push(operand(x.type, value).code, 0x21, unsigned(x.index));
  }

  /** Stores a value at `address + offset`. */
  store(name: keyof typeof STORES, address: I32Value | number, value: Value | number, offset = 0): void {
    const { type, code, align } = STORES[name];
    this.code.push(operand("i32", address).code, operand(type, value).code, code, align, unsigned(offset));
  }

  storeVector(address: I32Value | number, value: V128Value, offset = 0): void {
    this.store("v128.store", address, value, offset);
  }

  /** Adds to an i32 local. */
  step(x: Local<"i32">, by: I32Value | number): void {
    this.set(x, i32.add(x, by));
  }

  private nested(open: Code, body: () => void): void {
    const outer = this.code;
    this.code = [];
    this.depth++;
    body();
    this.depth--;
    outer.push(open, this.code, 0x0b);
    this.code = outer;
  }

  /** Runs `body` where the condition is not 0, else `otherwise`. */
  when(condition: I32Value, body: () => void, otherwise?: () => void): void {
    const outer = this.code;
    this.code = [];
    this.depth++;
    body();
    const then = this.code;
    this.code = [];
    otherwise?.();
    const not = this.code;
    this.depth--;
    this.code = outer;
    outer.push(condition.code, [0x04, 0x40], then, otherwise ? [0x05, not] : [], 0x0b);
  }

  /** Runs `body` until its `leave` is taken or it ends. */
  block(body: (leave: (condition?: I32Value) => void) => void): void {
    const at = this.depth;
    this.nested([0x02, 0x40], () => body((condition) => this.branch(at, condition)));
  }

  /** Runs `body` at least once, and again while the condition that it returns is not 0. For hot loops. */
  repeat(body: () => I32Value): void {
    const at = this.depth;
    const first = this.locals.length;
    this.nested([0x03, 0x40], () => {
      const again = body();
      if (this.scoped) this.endScope(first);
      this.branch(at, again);
    });
  }

  /**
   * Zeroes the vector locals made since local `first`. Otherwise the compiler assumes that the next iteration may read
   * the value that a loop's body leaves in a local, and V8's revectorizer counts that as a use.
   */
  private endScope(first: number): void {
    if (!this.locals.slice(first).includes("v128")) return;
    const zero = this.zero ?? this.local("v128");
    this.zero = zero;
    this.locals.forEach((type, index) => {
      if (index >= first && type === "v128" && index !== zero.index)
        this.code.push(zero.code, 0x21, unsigned(index));
    });
  }

  /** Runs `body` while the condition is not 0. */
  loop(condition: () => I32Value, body: () => void): void {
    this.block((leave) =>
      this.repeat(() => {
        leave(i32.eqz(condition()));
        body();
        return operand("i32", 1);
      }),
    );
  }

  /** Runs `body` while `left` is above 0, and subtracts `by` after each turn. */
  down(left: Local<"i32">, by: number, body: () => void): void {
    this.loop(
      () => (by === 1 ? left : i32.gt_s(left, 0)),
      () => {
        body();
        this.step(left, -by);
      },
    );
  }

  /** Counts `x` from `from` to below `to`. */
  count(
    x: Local<"i32">,
    from: I32Value | number,
    to: I32Value | number,
    by: I32Value | number,
    body: () => void,
  ): void {
    this.set(x, from);
    this.loop(
      () => i32.lt_s(x, to),
      () => {
        body();
        this.step(x, by);
      },
    );
  }

  /** Emits `body`; values that it passes to `before` are computed before it, such as the constants of a loop. */
  prepared(body: (before: <T extends ValueType>(value: Value<T>) => Local<T>) => void): void {
    const outer = this.code;
    const first: (number | Code)[] = [];
    this.code = [];
    body((value) => {
      const x = this.local(value.type);
      first.push(value.code, 0x21, unsigned(x.index));
      return x;
    });
    outer.push(first, this.code);
    this.code = outer;
  }

  private branch(at: number, condition?: I32Value): void {
    const up = unsigned(this.depth - at - 1);
    this.code.push(condition ? [condition.code, 0x0d, up] : [0x0c, up]);
  }

  /** Calls a function without a result, with operands in order or by name: `f.call(scores, { q, k, s })`. */
  call(func: Func, ...args: (Value | number)[] | [NamedOperands]): void {
    this.code.push(callCode(func, inOrder(func, args)));
    if (func.result) this.code.push(0x1a);
  }

  /** Pushes `value` as the function's result; the last statement of a body. */
  result(value: Value): void {
    this.code.push(value.code);
  }

  /** The body's bytes: local declarations in runs of one type, then code. */
  encode(): Uint8Array {
    const runs: [number, ValueType][] = [];
    for (const type of this.locals.slice(this.params)) {
      const last = runs[runs.length - 1];
      if (last && last[1] === type) last[0]++;
      else runs.push([1, type]);
    }
    const bytes = new Bytes();
    bytes.code([unsigned(runs.length), runs.map(([n, type]) => [unsigned(n), TYPE[type]]), this.code, 0x0b]);
    return bytes.done();
  }
}

/** A call of a function with a result, as a value. */
export function callValue<T extends ValueType>(
  func: Func & { result?: T },
  ...args: (Value | number)[] | [NamedOperands]
): Value<T> {
  if (!func.result) throw new TypeError(`assembler: ${func.name} has no result`);
  return new Value(func.result, callCode(func, inOrder(func, args))) as Value<T>;
}

/** Operands in the order of the parameters. */
function inOrder(func: Func, args: (Value | number)[] | [NamedOperands]): readonly (Value | number)[] {
  const [first] = args;
  if (typeof first !== "object" || first instanceof Value) return args as (Value | number)[];
  for (const name of Object.keys(first))
    if (!func.names.includes(name)) throw new TypeError(`assembler: ${func.name} has no operand ${name}`);
  return func.names.map((name) => {
    const value = first[name];
    if (value === undefined) throw new TypeError(`assembler: ${func.name} needs the operand ${name}`);
    return value;
  });
}

function callCode(func: Func, args: readonly (Value | number)[]): Code {
  if (args.length !== func.params.length)
    throw new TypeError(`assembler: ${func.name} takes ${func.params.length} operands, got ${args.length}`);
  return [...args.map((x, n) => operand(func.params[n], x as Value).code), 0x10, unsigned(func.index)];
}

/** A growing array of bytes. */
class Bytes {
  private buffer = new Uint8Array(4096);
  private length = 0;

  private reserve(count: number): void {
    if (this.length + count <= this.buffer.length) return;
    const more = new Uint8Array(2 * (this.length + count));
    more.set(this.buffer);
    this.buffer = more;
  }

  /** Appends a tree of code. */
  code(tree: Code): void {
    for (let n = 0; n < tree.length; n++) {
      const part = tree[n];
      if (typeof part === "number") {
        if (this.length === this.buffer.length) this.reserve(1);
        this.buffer[this.length++] = part;
      } else this.code(part);
    }
  }

  /** Appends finished bytes. */
  bytes(more: Uint8Array): void {
    this.reserve(more.length);
    this.buffer.set(more, this.length);
    this.length += more.length;
  }

  done(): Uint8Array<ArrayBuffer> {
    return this.buffer.slice(0, this.length);
  }
}

/** Parameters of a function by name. */
type Parameters = readonly string[] | Readonly<Record<string, ValueType>>;
type LocalsOf<P extends Parameters> = P extends readonly (infer N extends string)[]
  ? { readonly [K in N]: Local<"i32"> }
  : { readonly [K in keyof P]: Local<P[K] & ValueType> };

/** A module with one imported memory. */
export class ModuleBuilder {
  private readonly types: string[] = [];
  private readonly typeBytes: number[][] = [];
  private readonly functions: { type: number; body: Uint8Array; name: string; exported: boolean }[] = [];
  private readonly memory: { readonly shared: boolean; readonly initial?: number; readonly maximum?: number };
  private readonly scoped: boolean;

  /**
   * `memory` is what the module imports as "env" "memory": by default at least one page of 64 KiB, at most 4 GiB. With `wide` vectors made
   * in a loop's body are zeroed at its end (for V8's revectorizer).
   */
  constructor({ wide = false, ...memory }: ModuleBuilder["memory"] & { readonly wide?: boolean }) {
    this.memory = memory;
    this.scoped = wide;
  }

  /**
   * Adds a function. Its parameters have names, in order: a list of them where all are i32. `write` gets the builder and the parameters
   * as locals by name:
   *
   *   module.func("scaled", { x: "f32", by: "f32" }, (f, { x, by }) => f.result(f32.mul(x, by)), { result: "f32" });
   */
  func<const P extends Parameters>(
    name: string,
    parameters: P,
    write: (f: FunctionBuilder, locals: LocalsOf<P>) => void,
    options: { result?: ValueType; exported?: boolean } = {},
  ): Func {
    const types: Readonly<Record<string, ValueType>> = Array.isArray(parameters)
      ? Object.fromEntries((parameters as readonly string[]).map((key) => [key, "i32"]))
      : (parameters as Readonly<Record<string, ValueType>>);
    const [names, params] = [Object.keys(types), Object.values(types)];
    const f = new FunctionBuilder(params, this.scoped);
    const locals = names.map((key, n) => [key, new Local(params[n], n)]);
    write(f, Object.fromEntries(locals) as LocalsOf<P>);
    const type = this.typeOf(params, options.result);
    this.functions.push({ type, body: f.encode(), name, exported: options.exported ?? false });
    return { name, index: this.functions.length - 1, params, names, result: options.result };
  }

  private typeOf(params: readonly ValueType[], result: ValueType | undefined): number {
    const key = `${params.join()}:${result}`;
    const index = this.types.indexOf(key);
    if (index >= 0) return index;
    this.types.push(key);
    const results = result ? [result] : [];
    this.typeBytes.push([
      0x60,
      params.length,
      ...params.map((t) => TYPE[t]),
      results.length,
      ...results.map((t) => TYPE[t]),
    ]);
    return this.types.length - 1;
  }

  /** The module's bytes. */
  encode(): Uint8Array<ArrayBuffer> {
    const { initial = 1, maximum = 65536, shared } = this.memory;
    const text = (s: string) => [...unsigned(s.length), ...new TextEncoder().encode(s)];
    const vector = (items: readonly (readonly number[])[]) => [...unsigned(items.length), ...items.flat()];
    const section = (id: number, bytes: readonly number[]) => [id, ...unsigned(bytes.length), ...bytes];
    const exported = this.functions.flatMap((fn, index) =>
      fn.exported ? [[...text(fn.name), 0x00, ...unsigned(index)]] : [],
    );
    const bodies = new Bytes();
    bodies.code(unsigned(this.functions.length));
    for (const fn of this.functions) {
      bodies.code(unsigned(fn.body.length));
      bodies.bytes(fn.body);
    }
    const code = bodies.done();
    const bytes = new Bytes();
    bytes.code([
      [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
      section(1, vector(this.typeBytes)),
      section(
        2,
        vector([
          [
            ...text("env"),
            ...text("memory"),
            0x02,
            shared ? 3 : 1,
            ...unsigned(initial),
            ...unsigned(maximum),
          ],
        ]),
      ),
      section(3, vector(this.functions.map((fn) => unsigned(fn.type)))),
      section(7, vector(exported)),
      [10, ...unsigned(code.length)],
    ]);
    bytes.bytes(code);
    return bytes.done();
  }
}
