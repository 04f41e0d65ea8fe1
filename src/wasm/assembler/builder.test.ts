/** Functions from the builder run as written: loops, branches, locals, calls; and a small function as text. */
import { describe, expect, it } from "vitest";
import wabtOf from "wabt";
import { callValue, type Func, type FunctionBuilder, ModuleBuilder } from "./builder.ts";
import { f32, f32x4, i32, i32x4, v128 } from "./index.ts";
import type { Value, ValueType } from "./value.ts";

const wabt = await wabtOf();
const limits = { initial: 1, maximum: 1, shared: false };

/** The exports of a module over a memory of one page. */
function run(write: (module: ModuleBuilder) => void) {
  const module = new ModuleBuilder(limits);
  write(module);
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 1 });
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module.encode()), { env: { memory } });
  return {
    memory,
    call: (name: string, ...args: number[]) => (exports[name] as (...x: number[]) => number)(...args),
    names: Object.keys(exports),
  };
}

/** A function of one i32 with an i32 result, run. */
const of = (write: (f: FunctionBuilder, x: Parameters<Parameters<ModuleBuilder["func"]>[2]>[1]) => Value) => {
  const { call } = run((m) =>
    m.func("f", { x: "i32" }, (f, { x }) => f.result(write(f, x as never)), {
      result: "i32",
      exported: true,
    }),
  );
  return (x: number) => call("f", x);
};

describe("statements run as written:", () => {
  it("count runs from its first number to below its last, or not at all", () => {
    const sum = of((f, to) => {
      const [i, s] = [f.local("i32"), f.local("i32")];
      f.count(i, 2, to as never, 3, () => f.step(s, i));
      return s;
    });
    expect([-5, 0, 2, 3, 5, 6, 12].map(sum)).toEqual([0, 0, 0, 2, 2, 7, 26]);
  });

  it("repeat runs at least once, loop may not run", () => {
    const times = (kind: "repeat" | "loop") =>
      of((f, n) => {
        const [left, s] = [f.int(n as never), f.local("i32")];
        const body = () => {
          f.step(s, 1);
          f.step(left, -1);
        };
        if (kind === "loop") f.loop(() => i32.gt_s(left, 0), body);
        else
          f.repeat(() => {
            body();
            return i32.gt_s(left, 0);
          });
        return s;
      });
    expect([0, 1, 5].map(times("repeat"))).toEqual([1, 1, 5]);
    expect([0, 1, 5].map(times("loop"))).toEqual([0, 1, 5]);
  });

  it("when runs one of its branches; leave ends its block, from any depth", () => {
    const f = of((f, x) => {
      const s = f.int(0);
      f.block((outer) => {
        f.block((inner) => {
          f.loop(
            () => i32.lt_s(s, 100),
            () => {
              f.when(i32.eq(s, x as never), () => outer());
              f.when(i32.eq(s, 50), () => inner());
              f.step(s, 1);
            },
          );
        });
        f.step(s, 1000);
      });
      f.when(
        i32.lt_s(x as never, 0),
        () => f.step(s, 1),
        () => f.step(s, 2),
      );
      return s;
    });
    expect([7, 50, 60, -1].map(f)).toEqual([9, 52, 1052, 1051]);
  });

  it("prepared computes values before its body", () => {
    const f = of((f, x) => {
      const s = f.local("i32");
      f.prepared((before) => {
        f.set(x as never, 1000);
        f.set(s, before(i32.add(x as never, 1)));
      });
      return s;
    });
    expect(f(5)).toBe(6);
  });

  it("locals of many types and more than 127 keep apart", () => {
    const f = of((f, x) => {
      const locals = Array.from({ length: 200 }, (_, n) =>
        n % 3 === 0
          ? f.let(f32.add(n, 1))
          : n % 3 === 1
            ? f.let(i32x4.splat(i32.add(x as never, n)))
            : f.let(i32.add(x as never, n)),
      );
      const s = f.local("i32");
      locals.forEach((v, n) => {
        if (n % 3 === 2) f.step(s, v as never);
        if (n % 3 === 1) f.step(s, i32x4.extract_lane(v as never, 3));
      });
      return s;
    });
    const want = Array.from({ length: 200 }, (_, n) => (n % 3 === 0 ? 0 : 10 + n)).reduce((a, b) => a + b);
    expect(f(10)).toBe(want);
  });

  it("functions call each other; only exported ones are visible; an unused result is dropped", () => {
    const { call, names } = run((m) => {
      const twice = m.func("twice", { x: "i32" }, (f, { x }) => f.result(i32.mul(x, 2)), { result: "i32" });
      const keep = m.func("keep", { at: "i32", x: "f32" }, (f, { at, x }) => f.store("f32.store", at, x, 4));
      m.func(
        "f",
        { x: "i32" },
        (f, { x }) => {
          f.call(twice, x);
          f.call(keep, 0, 1.5);
          f.result(i32.add(callValue(twice as Func & { result: "i32" }, i32.add(x, 1)), i32.load(0, 4)));
        },
        { result: "i32", exported: true },
      );
    });
    expect(names).toEqual(["f"]);
    expect(call("f", 3)).toBe(8 + 0x3fc00000);
  });
});

it("zeroing the vectors of a loop's body does not change its results", () => {
  const code = (scoped: boolean) => {
    const module = new ModuleBuilder({ ...limits, wide: scoped });
    module.func(
      "f",
      { n: "i32" },
      (f, { n }) => {
        const sum = f.let(v128.load(0));
        const at = f.int(0);
        f.repeat(() => {
          const x = f.let(v128.load(at));
          f.set(sum, f32x4.add(sum, f32x4.mul(x, x)));
          f.step(at, 16);
          return i32.ne(at, n);
        });
        f.storeVector(0, sum, 1024);
      },
      { exported: true },
    );
    return module.encode();
  };
  const results = [false, true].map((scoped) => {
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 1 });
    new Float32Array(memory.buffer).set(Array.from({ length: 64 }, (_, i) => Math.sin(i)));
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(code(scoped)), { env: { memory } });
    (exports.f as (n: number) => void)(256);
    return new Float32Array(memory.buffer, 1024, 4);
  });
  expect(results[1]).toEqual(results[0]);
  expect(results[0].some((x) => x !== 0)).toBe(true);
});

describe("rejected when the kernel is built:", () => {
  const quiet = (
    write: (f: FunctionBuilder, m: ModuleBuilder) => void,
    params: Readonly<Record<string, ValueType>> = {},
  ) => {
    const m = new ModuleBuilder(limits);
    return () => m.func("f", params, (f) => write(f, m));
  };
  it("a call with too few operands, or of the wrong type", () => {
    const m = new ModuleBuilder(limits);
    const g = m.func("g", { a: "i32", x: "v128" }, () => {});
    expect(() => m.func("f", {}, (f) => f.call(g, 1))).toThrow("g takes 2 operands, got 1");
    expect(() => m.func("f", {}, (f) => f.call(g, { a: 1 }))).toThrow("g needs the operand x");
    expect(() => m.func("f", {}, (f) => f.call(g, { a: 1, x: v128.load(0), y: 2 }))).toThrow(
      "g has no operand y",
    );
    expect(() => m.func("f", {}, (f) => f.call(g, 1, i32.load(0)))).toThrow("expected v128, got i32");
  });
  it("the value of a function without a result", () => {
    const m = new ModuleBuilder(limits);
    const g = m.func("g", {}, () => {});
    expect(() => callValue(g)).toThrow("g has no result");
  });
  it("setting a local, or storing, with another type", () => {
    expect(quiet((f) => f.set(f.local("i32"), v128.load(0) as never))).toThrow("expected i32, got v128");
    expect(quiet((f) => f.store("f32.store", 0, v128.load(0)))).toThrow("expected f32, got v128");
    expect(quiet((f) => f.storeVector(0, i32.load(0) as never))).toThrow("expected v128, got i32");
  });
});

it("a dot product, as text", () => {
  const module = new ModuleBuilder({ initial: 1, maximum: 65536, shared: true });
  module.func(
    "dot",
    { a: "i32", b: "i32", end: "i32" },
    (f, { a, b, end }) => {
      const sum = f.local("v128");
      f.repeat(() => {
        f.set(sum, f32x4.add(sum, f32x4.mul(v128.load(a), v128.load(b, 256))));
        f.step(a, 16);
        f.step(b, 16);
        return i32.ne(a, end);
      });
      f.storeVector(0, sum);
    },
    { exported: true },
  );
  const read = wabt.readWasm(module.encode(), { threads: true });
  expect(read.toText({ foldExprs: true })).toMatchInlineSnapshot(`
    "(module
      (type (;0;) (func (param i32 i32 i32)))
      (import "env" "memory" (memory (;0;) 1 65536 shared))
      (func (;0;) (type 0) (param i32 i32 i32)
        (local v128)
        (loop  ;; label = @1
          (local.set 3
            (f32x4.add
              (local.get 3)
              (f32x4.mul
                (v128.load
                  (local.get 0))
                (v128.load offset=256
                  (local.get 1)))))
          (local.set 0
            (i32.add
              (local.get 0)
              (i32.const 16)))
          (local.set 1
            (i32.add
              (local.get 1)
              (i32.const 16)))
          (br_if 0 (;@1;)
            (i32.ne
              (local.get 0)
              (local.get 2))))
        (v128.store
          (i32.const 0)
          (local.get 3)))
      (export "dot" (func 0)))
    "
  `);
  read.destroy();
});
