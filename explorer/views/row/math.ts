/** Formulas with the actual numbers as MathML, which assistive technology can read and which needs no fonts. */
import { html, mathml, type TemplateResult } from "lit";
import type { Num } from "../../../src/store/text/number.ts";

type Part = string | Num;

/** `29.68 × 0.125` */
export function formula(parts: readonly Part[]): TemplateResult {
  return html`<math>${mathml`<mrow>${expression(parts)}</mrow>`}</math>`;
}

function number({ value, text, source }: Num): TemplateResult {
  return mathml`<mn data-value=${String(value)} data-source=${source}>${text}</mn>`;
}

/** A quotient of two numbers is a fraction, e^( … ) a power; everything else is a row. */
function expression(parts: readonly Part[]): TemplateResult | TemplateResult[] {
  const [first, between, second, ...more] = parts;
  if (isNum(first) && between === " ÷ " && isNum(second) && more.length === 0)
    return mathml`<mfrac>${number(first)}${number(second)}</mfrac>`;
  if (first === "e^(" && isNum(between) && second === ")" && more.length === 0)
    return mathml`<msup><mi>e</mi>${number(between)}</msup>`;
  return parts.flatMap((part, n) => {
    const before = parts[n - 1];
    if (isNum(part))
      return typeof before === "string" && before.endsWith("√")
        ? [mathml`<msqrt>${number(part)}</msqrt>`]
        : [number(part)];
    // A root is an element around its number: as a character it would have no bar.
    return words(part.replace(/√$/, ""));
  });
}

const isNum = (part: Part | undefined): part is Num => typeof part === "object";

/** Text between numbers: operators, brackets, names and plain words. */
function words(text: string): TemplateResult[] {
  const pieces = text.match(/[+×÷·()−]|tanh|[^+×÷·()−]+/g) ?? [];
  return pieces.map((piece, n) => {
    const trimmed = piece.trim();
    // MathML adds space around operators, but not before a remark in parentheses.
    if (trimmed === "" && pieces[n + 1] === "(") return mathml`<mtext>\u00a0</mtext>`;
    if (/^[+×÷·()−]$/.test(trimmed)) return mathml`<mo>${trimmed}</mo>`;
    return trimmed === "tanh"
      ? mathml`<mi>${trimmed}</mi>`
      : trimmed === ""
        ? mathml``
        : mathml`<mtext>${piece.replace(/^ | $/g, "\u00a0")}</mtext>`;
  });
}
