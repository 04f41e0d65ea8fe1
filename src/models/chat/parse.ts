/** Parses a chat template into the statements of syntax.ts: recursive descent, a method for each level of precedence. */
import type { CallArguments, Statement, TemplateExpression } from "./syntax.ts";
import { refuseTemplate, type TemplateToken, tokensOf } from "./tokens.ts";

/** Maximum characters of a template, and levels of nesting. */
const MAX_TEMPLATE = 2 ** 18;
const MAX_DEPTH = 64;

const CONSTANTS: Readonly<Record<string, string | number | boolean | null>> = {
  true: true, True: true, false: false, False: false, none: null, None: null,
}; // biome-ignore format: one list
const RESERVED = new Set(["if", "else", "elif", "for", "in", "is", "and", "or", "not"]);
const COMPARISONS = ["==", "!=", "<", ">", "<=", ">=", "in"];

/** Parses a template. Throws a FormatError that names what heed does not read. */
export function parseTemplate(source: string): readonly Statement[] {
  if (source.length > MAX_TEMPLATE)
    return refuseTemplate(`${source.length} characters; at most ${MAX_TEMPLATE} are read`);
  // As in Jinja, one line break at the end is none.
  const parser = new Parser(tokensOf(source.replace(/\r\n?/g, "\n").replace(/\n$/, "")));
  const statements = parser.statements([]);
  parser.expectEnd();
  return statements;
}

/** A recursive descent parser: a method for each level of precedence. */
class Parser {
  readonly #tokens: readonly TemplateToken[];
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly TemplateToken[]) {
    this.#tokens = tokens;
  }

  get #token(): TemplateToken {
    return this.#tokens[this.#at];
  }

  #is(text: string, kind?: TemplateToken["kind"]): boolean {
    const token = this.#token;
    return (
      token.text === text &&
      (kind === undefined ? token.kind === "name" || token.kind === "symbol" : token.kind === kind)
    );
  }

  #accept(text: string): boolean {
    if (!this.#is(text)) return false;
    this.#at++;
    return true;
  }

  #expect(text: string): void {
    if (!this.#accept(text))
      refuseTemplate(
        `expected ${JSON.stringify(text)}, got ${JSON.stringify(this.#token.text)}`,
        this.#token.at,
      );
  }

  #name(): string {
    const { kind, text, at } = this.#token;
    if (kind !== "name" || RESERVED.has(text))
      return refuseTemplate(`expected a name, got ${JSON.stringify(text)}`, at);
    this.#at++;
    return text;
  }

  #close(): void {
    if (this.#token.kind !== "close")
      refuseTemplate(`${JSON.stringify(this.#token.text)} was not expected`, this.#token.at);
    this.#at++;
  }

  /** Runs a part that may nest. */
  #nested<T>(run: () => T): T {
    if (++this.#depth > MAX_DEPTH) refuseTemplate(`more than ${MAX_DEPTH} levels`, this.#token.at);
    const result = run();
    this.#depth--;
    return result;
  }

  expectEnd(): void {
    if (this.#token.kind !== "end")
      refuseTemplate(`{% ${this.#tokens[this.#at + 1]?.text ?? ""} %} closes nothing`, this.#token.at);
  }

  /** Statements up to a block whose first word is one of `ends`, which stays. */
  statements(ends: readonly string[]): Statement[] {
    return this.#nested(() => {
      const list: Statement[] = [];
      for (;;) {
        const { kind, text, at } = this.#token;
        if (kind === "end") {
          if (ends.length > 0) refuseTemplate(`there is no {% ${ends[ends.length - 1]} %}`, at);
          return list;
        }
        if (kind === "text") {
          this.#at++;
          list.push({ kind: "text", text });
        } else if (text === "{{") {
          this.#at++;
          list.push({ kind: "output", of: this.expression() });
          this.#close();
        } else {
          const word = this.#tokens[this.#at + 1]?.text ?? "";
          if (ends.includes(word) || (ends.length === 0 && /^(?:end|else|elif)/.test(word))) return list;
          this.#at += 2;
          list.push(...this.#statement(word, at));
        }
      }
    });
  }

  /** Statements up to `{% word %}`, which is consumed. */
  #body(word: string): Statement[] {
    const body = this.statements([word]);
    this.#at += 2;
    this.#close();
    return body;
  }

  #statement(word: string, at: number): Statement[] {
    switch (word) {
      case "set":
        return [this.#set()];
      case "for":
        return [this.#for()];
      case "if":
        return [this.#if()];
      case "macro":
        return [this.#macro()];
      case "generation":
        // Marks what a model says, for training.
        this.#close();
        return this.#body("endgeneration");
      case "break":
      case "continue":
        this.#close();
        return [{ kind: word }];
      default:
        return refuseTemplate(`{% ${word} %} is not a statement that heed has`, at);
    }
  }

  #set(): Statement {
    const first = this.#name();
    let target: TemplateExpression | string[] = { kind: "name", name: first };
    if (this.#accept("."))
      target = { kind: "item", of: target, key: { kind: "literal", value: this.#name() } };
    else if (this.#is(",")) {
      target = [first];
      while (this.#accept(",")) target.push(this.#name());
    }
    if (this.#token.kind === "close") {
      this.#close();
      return { kind: "set", target, value: this.#body("endset") };
    }
    this.#expect("=");
    const value = this.#tuple();
    this.#close();
    return { kind: "set", target, value };
  }

  #for(): Statement {
    const names = [this.#name()];
    while (this.#accept(",")) names.push(this.#name());
    this.#expect("in");
    // A condition after `if` selects items; it is no conditional expression.
    const of = this.#or();
    const condition = this.#accept("if") ? this.expression() : undefined;
    if (this.#is("recursive")) refuseTemplate("a recursive for", this.#token.at);
    this.#close();
    const body = this.statements(["else", "endfor"]);
    this.#at += 2;
    const hasElse = this.#tokens[this.#at - 1].text === "else";
    this.#close();
    return { kind: "for", names, of, condition, body, otherwise: hasElse ? this.#body("endfor") : [] };
  }

  #if(): Statement {
    const branches: { condition?: TemplateExpression; body: Statement[] }[] = [];
    let condition: TemplateExpression | undefined = this.expression();
    for (;;) {
      this.#close();
      const body = this.statements(condition === undefined ? ["endif"] : ["elif", "else", "endif"]);
      branches.push({ condition, body });
      this.#at += 2;
      const word = this.#tokens[this.#at - 1].text;
      if (word === "endif") {
        this.#close();
        return { kind: "if", branches };
      }
      condition = word === "elif" ? this.expression() : undefined;
    }
  }

  #macro(): Statement {
    const name = this.#name();
    const parameters: { name: string; otherwise?: TemplateExpression }[] = [];
    this.#expect("(");
    while (!this.#accept(")")) {
      const parameter = this.#name();
      parameters.push({ name: parameter, ...(this.#accept("=") && { otherwise: this.expression() }) });
      if (!this.#is(")")) this.#expect(",");
    }
    this.#close();
    return { kind: "macro", name, parameters, body: this.#body("endmacro") };
  }

  /** An expression, or several with commas between them as a list. */
  #tuple(): TemplateExpression {
    const first = this.expression();
    if (!this.#is(",")) return first;
    const items = [first];
    while (this.#accept(",")) items.push(this.expression());
    return { kind: "list", items };
  }

  expression(): TemplateExpression {
    return this.#nested(() => {
      const then = this.#or();
      if (!this.#accept("if")) return then;
      const condition = this.#or();
      return { kind: "if", condition, then, ...(this.#accept("else") && { otherwise: this.expression() }) };
    });
  }

  /** Operators of one level, from the left. */
  #chain(operators: readonly string[], next: () => TemplateExpression): TemplateExpression {
    let left = next();
    for (;;) {
      const operator = operators.find((one) => this.#is(one));
      if (operator === undefined) return left;
      this.#at++;
      left = { kind: "binary", operator, left, right: next() };
    }
  }

  #or = (): TemplateExpression => this.#chain(["or"], () => this.#chain(["and"], this.#not));

  #not = (): TemplateExpression =>
    this.#accept("not")
      ? this.#nested(() => ({ kind: "unary", operator: "not", of: this.#not() }))
      : this.#comparison();

  #comparison(): TemplateExpression {
    let left = this.#sum();
    let all: TemplateExpression | undefined;
    for (;;) {
      const isNot = this.#is("not") && this.#tokens[this.#at + 1].text === "in";
      const operator = isNot ? "in" : COMPARISONS.find((one) => this.#is(one));
      if (operator === undefined) return all ?? left;
      this.#at += isNot ? 2 : 1;
      const right = this.#sum();
      const compared: TemplateExpression = { kind: "binary", operator, left, right };
      const one: TemplateExpression = isNot ? { kind: "unary", operator: "not", of: compared } : compared;
      // As in Python, a < b < c is a < b and b < c.
      all = all ? { kind: "binary", operator: "and", left: all, right: one } : one;
      left = right;
    }
  }

  #sum = (): TemplateExpression => this.#chain(["+", "-"], () => this.#chain(["~"], this.#product));
  #product = (): TemplateExpression => this.#chain(["*", "//", "/", "%"], this.#unary);

  /** Filters and tests are of the negative number: -3 | string is "-3". */
  #unary = (isOperand = false): TemplateExpression => {
    for (const operator of ["-", "+"])
      if (this.#accept(operator))
        return this.#postfix(
          this.#nested(() => ({ kind: "unary", operator, of: this.#unary(true) })),
          isOperand,
        );
    if (this.#is("**")) refuseTemplate("the operator **", this.#token.at);
    return this.#postfix(this.#primary(), isOperand);
  };

  #primary(): TemplateExpression {
    const { kind, text, at } = this.#token;
    this.#at++;
    if (kind === "number") return { kind: "literal", value: Number(text) };
    if (kind === "string") {
      let value = text;
      // Texts beside each other are one, as in Python.
      for (; this.#token.kind === "string"; this.#at++) value += this.#token.text;
      return { kind: "literal", value };
    }
    if (kind === "name" && Object.hasOwn(CONSTANTS, text)) return { kind: "literal", value: CONSTANTS[text] };
    if (kind === "name" && !RESERVED.has(text)) return { kind: "name", name: text };
    if (kind === "symbol" && text === "(") {
      if (this.#accept(")")) return { kind: "list", items: [] };
      const inside = this.#tuple();
      this.#expect(")");
      return inside;
    }
    if (kind === "symbol" && text === "[")
      return { kind: "list", items: this.#items("]", () => this.expression()) };
    if (kind === "symbol" && text === "{")
      return {
        kind: "dict",
        entries: this.#items("}", () => {
          const key = this.expression();
          this.#expect(":");
          return [key, this.expression()] as const;
        }),
      };
    return refuseTemplate(`${JSON.stringify(text)} was not expected`, at);
  }

  #items<T>(end: string, item: () => T): T[] {
    const items: T[] = [];
    while (!this.#accept(end)) {
      items.push(item());
      if (!this.#is(end)) this.#expect(",");
    }
    return items;
  }

  #postfix(start: TemplateExpression, isOperand: boolean): TemplateExpression {
    let of = start;
    for (;;) {
      if (this.#accept(".")) {
        const { kind, text } = this.#token;
        const key = kind === "number" ? Number(text) : undefined;
        if (key !== undefined) this.#at++;
        of = { kind: "item", of, key: { kind: "literal", value: key ?? this.#name() } };
      } else if (this.#accept("[")) of = this.#subscript(of);
      else if (this.#is("(")) of = { kind: "call", callee: of, call: this.#call() };
      else if (!isOperand && this.#accept("|")) {
        const name = this.#name();
        of = { kind: "filter", of, name, call: this.#is("(") ? this.#call() : EMPTY };
      } else if (!isOperand && this.#accept("is")) {
        const not = this.#accept("not");
        const { text } = this.#token;
        this.#at++;
        const hasArgument = this.#is("(");
        of = { kind: "test", of, name: text, not, call: hasArgument ? this.#call() : EMPTY };
      } else return of;
    }
  }

  #subscript(of: TemplateExpression): TemplateExpression {
    const parts: (TemplateExpression | undefined)[] = [undefined];
    let isSlice = false;
    while (!this.#accept("]")) {
      if (this.#accept(":")) {
        isSlice = true;
        parts.push(undefined);
      } else parts[parts.length - 1] = this.expression();
    }
    if (isSlice) return { kind: "slice", of, parts };
    return { kind: "item", of, key: parts[0] ?? refuseTemplate("an empty subscript", this.#token.at) };
  }

  #call(): CallArguments {
    const positional: TemplateExpression[] = [];
    const named = new Map<string, TemplateExpression>();
    this.#expect("(");
    while (!this.#accept(")")) {
      const isNamed =
        this.#token.kind === "name" &&
        this.#tokens[this.#at + 1].text === "=" &&
        this.#tokens[this.#at + 1].kind === "symbol";
      if (isNamed) {
        const name = this.#name();
        this.#expect("=");
        named.set(name, this.expression());
      } else positional.push(this.expression());
      if (!this.#is(")")) this.#expect(",");
    }
    return { positional, named };
  }
}

const EMPTY: CallArguments = { positional: [], named: new Map() };
