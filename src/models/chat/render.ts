/** Renders a chat template: an interpreter of the statements of syntax.ts. No property of JavaScript can be reached from a template. */
import { parseTemplate } from "./parse.ts";
import type { CallArguments, Statement, TemplateExpression } from "./syntax.ts";
import { refuseTemplate } from "./tokens.ts";
import type { TemplateValue } from "./values.ts";
import { contains, isEqual, isTrue, itemsOf, kindOf, methodOf, print, runFilter, runTest } from "./values.ts";

/** Statements and expressions that one rendering may run, and characters that it may write. */
const MAX_STEPS = 2_000_000;
const MAX_OUTPUT = 2 ** 24;

/** Ends a round of a loop. */
class LoopExit extends Error {
  readonly kind: "break" | "continue";
  constructor(kind: "break" | "continue") {
    super(kind);
    this.kind = kind;
  }
}

/** Names of a scope, and the scope around it. */
class Scope {
  readonly names = new Map<string, TemplateValue>();
  readonly outer?: Scope;
  constructor(outer?: Scope) {
    this.outer = outer;
  }
  get(name: string): TemplateValue {
    return this.names.has(name) ? this.names.get(name) : this.outer?.get(name);
  }
}

/** The text of a template with these variables. Throws a FormatError for a construct that heed does not have, or `raise_exception`. */
export function renderTemplate(
  source: string,
  variables: ReadonlyMap<string, TemplateValue>,
  now = new Date(),
): string {
  const scope = new Scope();
  for (const [name, value] of GLOBALS) scope.names.set(name, value);
  scope.names.set("strftime_now", ([format]) => formatTime(print(format), now));
  for (const [name, value] of variables) scope.names.set(name, value);
  return new Renderer().run(parseTemplate(source), scope);
}

const GLOBALS: ReadonlyMap<string, TemplateValue> = new Map<string, TemplateValue>([
  ["namespace", (_, named) => new Map(named)],
  ["dict", (_, named) => new Map(named)],
  [
    "range",
    (list) => {
      const [start, stop, step] =
        list.length === 1
          ? [0, Number(list[0]), 1]
          : [Number(list[0]), Number(list[1]), Number(list[2] ?? 1)];
      const count = Math.max(0, Math.ceil((stop - start) / step));
      return count <= 100_000
        ? Array.from({ length: count }, (_, i) => start + i * step)
        : refuseTemplate(`a range of ${count}`);
    },
  ],
  ["raise_exception", ([message]) => refuseTemplate(`it refuses the messages: ${print(message)}`)],
]);

class Renderer {
  #steps = 0;
  #written = 0;

  #step(): void {
    if (++this.#steps > MAX_STEPS) refuseTemplate(`more than ${MAX_STEPS} steps`);
  }

  run(statements: readonly Statement[], scope: Scope): string {
    let out = "";
    for (const statement of statements) {
      this.#step();
      const part = this.#statement(statement, scope);
      this.#written += part.length;
      if (this.#written > MAX_OUTPUT) refuseTemplate(`more than ${MAX_OUTPUT} characters`);
      out += part;
    }
    return out;
  }

  #statement(it: Statement, scope: Scope): string {
    switch (it.kind) {
      case "text":
        return it.text;
      case "output":
        return print(this.value(it.of, scope));
      case "set":
        this.#set(it, scope);
        return "";
      case "if": {
        const branch = it.branches.find(
          ({ condition }) => condition === undefined || isTrue(this.value(condition, scope)),
        );
        // As in Jinja, names set in a branch are those of the scope around it.
        return branch ? this.run(branch.body, scope) : "";
      }
      case "for":
        return this.#loop(it, scope);
      case "macro": {
        const { name, parameters, body } = it;
        scope.names.set(name, (positional, named) => {
          const inner = new Scope(scope);
          parameters.forEach(({ name, otherwise }, i) => {
            const value =
              i < positional.length
                ? positional[i]
                : named.has(name)
                  ? named.get(name)
                  : otherwise && this.value(otherwise, inner);
            inner.names.set(name, value);
          });
          return this.run(body, inner);
        });
        return "";
      }
      default:
        throw new LoopExit(it.kind);
    }
  }

  #set({ target, value }: Statement & { kind: "set" }, scope: Scope): void {
    const result = Array.isArray(value)
      ? this.run(value as readonly Statement[], scope)
      : this.value(value as TemplateExpression, scope);
    if (Array.isArray(target)) {
      const items = itemsOf(result);
      (target as readonly string[]).forEach((name, i) => void scope.names.set(name, items[i]));
      return;
    }
    const place = target as TemplateExpression;
    if (place.kind === "name") scope.names.set(place.name, result);
    else if (place.kind === "item") {
      const of = this.value(place.of, scope);
      if (!(of instanceof Map)) refuseTemplate(`an attribute is set of ${kindOf(of)}`);
      else of.set(print(this.value(place.key, scope)), result);
    }
  }

  #loop({ names, of, condition, body, otherwise }: Statement & { kind: "for" }, scope: Scope): string {
    const enter = (item: TemplateValue): Scope => {
      const inner = new Scope(scope);
      if (names.length === 1) inner.names.set(names[0], item);
      else names.forEach((name, i) => void inner.names.set(name, itemsOf(item)[i]));
      return inner;
    };
    const items = itemsOf(this.value(of, scope)).filter(
      (item) => condition === undefined || isTrue(this.value(condition, enter(item))),
    );
    if (items.length === 0) return this.run(otherwise, scope);
    let out = "";
    for (const [i, item] of items.entries()) {
      const inner = enter(item);
      inner.names.set(
        "loop",
        new Map<string, TemplateValue>([
          ["index", i + 1], ["index0", i], ["first", i === 0], ["last", i === items.length - 1], ["length", items.length],
          ["revindex", items.length - i], ["revindex0", items.length - i - 1],
          ["previtem", items[i - 1]], ["nextitem", items[i + 1]],
        ]),
      ); // biome-ignore format: a table
      // Text before a break or a continue stays.
      for (const statement of body)
        try {
          out += this.run([statement], inner);
        } catch (error) {
          if (!(error instanceof LoopExit)) throw error;
          if (error.kind === "break") return out;
          break;
        }
    }
    return out;
  }

  value(it: TemplateExpression, scope: Scope): TemplateValue {
    this.#step();
    switch (it.kind) {
      case "literal":
        return it.value;
      case "name":
        return scope.get(it.name);
      case "list":
        return it.items.map((one) => this.value(one, scope));
      case "dict":
        return new Map(
          it.entries.map(([key, one]) => [print(this.value(key, scope)), this.value(one, scope)]),
        );
      case "item":
        return this.#item(this.value(it.of, scope), this.value(it.key, scope));
      case "slice":
        return this.#slice(it, scope);
      case "call": {
        const callee = this.value(it.callee, scope);
        if (typeof callee !== "function")
          return refuseTemplate(
            `a call of ${it.callee.kind === "name" ? it.callee.name : it.callee.kind === "item" ? print(this.value(it.callee.key, scope)) : kindOf(callee)}, which is not a function that heed has`,
          );
        const { positional, named } = this.#arguments(it.call, scope);
        return callee(positional, named);
      }
      case "filter": {
        const { positional, named } = this.#arguments(it.call, scope);
        return runFilter(it.name, this.value(it.of, scope), positional, named);
      }
      case "test":
        return (
          runTest(it.name, this.value(it.of, scope), this.#arguments(it.call, scope).positional) !== it.not
        );
      case "if":
        if (isTrue(this.value(it.condition, scope))) return this.value(it.then, scope);
        return it.otherwise && this.value(it.otherwise, scope);
      case "unary": {
        const of = this.value(it.of, scope);
        return it.operator === "not" ? !isTrue(of) : it.operator === "-" ? -Number(of) : Number(of);
      }
      default:
        return this.#binary(it, scope);
    }
  }

  #arguments({ positional, named }: CallArguments, scope: Scope) {
    return {
      positional: positional.map((one) => this.value(one, scope)),
      named: new Map([...named].map(([name, one]) => [name, this.value(one, scope)])),
    };
  }

  #item(of: TemplateValue, key: TemplateValue): TemplateValue {
    if (of instanceof Map && typeof key === "string" && of.has(key)) return of.get(key);
    if (typeof key === "number" && (Array.isArray(of) || typeof of === "string")) return of.at(key);
    if (of === undefined) return refuseTemplate(`the attribute ${print(key)} of an undefined value`);
    return typeof key === "string" ? methodOf(of, key) : undefined;
  }

  #slice({ of, parts }: TemplateExpression & { kind: "slice" }, scope: Scope): TemplateValue {
    const value = this.value(of, scope);
    const [start, stop, step] = parts.map((part) => {
      const number = part && this.value(part, scope);
      return typeof number === "number" ? number : undefined;
    });
    const list = typeof value === "string" ? [...value] : [...itemsOf(value)];
    let picked = list.slice(start, stop);
    if (step === -1) {
      if (start !== undefined || stop !== undefined)
        refuseTemplate("a slice with a step and a start or a stop");
      picked = list.reverse();
    } else if (step !== undefined && step !== 1)
      picked =
        step > 0 ? picked.filter((_, i) => i % step === 0) : refuseTemplate(`a slice with the step ${step}`);
    return typeof value === "string" ? picked.join("") : picked;
  }

  #binary({ operator, left, right }: TemplateExpression & { kind: "binary" }, scope: Scope): TemplateValue {
    const a = this.value(left, scope);
    if (operator === "and") return isTrue(a) ? this.value(right, scope) : a;
    if (operator === "or") return isTrue(a) ? a : this.value(right, scope);
    const b = this.value(right, scope);
    switch (operator) {
      case "==":
        return isEqual(a, b);
      case "!=":
        return !isEqual(a, b);
      case "in":
        return contains(b, a);
      case "~":
        return print(a) + print(b);
      case "+":
        if (typeof a === "string" && typeof b === "string") return a + b;
        if (Array.isArray(a) && Array.isArray(b)) return [...a, ...b];
    }
    if (typeof a === "string" && typeof b === "string" && /^[<>]/.test(operator)) {
      const order = a < b ? -1 : a > b ? 1 : 0;
      return { "<": order < 0, ">": order > 0, "<=": order <= 0, ">=": order >= 0 }[operator];
    }
    if (operator === "*" && typeof a === "string" && typeof b === "number")
      return a.repeat(Math.min(Math.max(0, b), 10_000));
    if (!isNumber(a) || !isNumber(b)) return refuseTemplate(`${operator} of ${kindOf(a)} and ${kindOf(b)}`);
    const [x, y] = [Number(a), Number(b)];
    const results: Readonly<Record<string, () => TemplateValue>> = {
      "+": () => x + y, "-": () => x - y, "*": () => x * y, "/": () => x / y, "//": () => Math.floor(x / y), "%": () => x - y * Math.floor(x / y),
      "<": () => x < y, ">": () => x > y, "<=": () => x <= y, ">=": () => x >= y,
    }; // biome-ignore format: a table
    return results[operator]();
  }
}

const isNumber = (value: TemplateValue) => typeof value === "number" || typeof value === "boolean";

/** As Python's strftime, for the parts of a date. */
function formatTime(format: string, date: Date): string {
  const padded = (n: number) => String(n).padStart(2, "0");
  const word = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat("en-US", options).format(date);
  const parts: Readonly<Record<string, () => string>> = {
    Y: () => String(date.getFullYear()), m: () => padded(date.getMonth() + 1), d: () => padded(date.getDate()),
    H: () => padded(date.getHours()), M: () => padded(date.getMinutes()), S: () => padded(date.getSeconds()),
    B: () => word({ month: "long" }), b: () => word({ month: "short" }), A: () => word({ weekday: "long" }), a: () => word({ weekday: "short" }), "%": () => "%",
  }; // biome-ignore format: a table
  return format.replace(/%(.)/g, (_, one: string) =>
    Object.hasOwn(parts, one) ? parts[one]() : refuseTemplate(`%${one} of strftime_now`),
  );
}
