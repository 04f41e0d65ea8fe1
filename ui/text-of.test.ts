import { live } from "lit/directives/live.js";
import { expect, test } from "vitest";
import { check, choice, menu, slider } from "./controls.ts";
import { html, mathml, nothing } from "./markup.ts";
import { svgText } from "./svg-text.ts";
import { textOf } from "./text-of.ts";

test("values between tags are escaped, lists joined, and nothing is written for null, undefined and nothing", () => {
  expect(textOf(html`<p>${'<&"'} ${["a", html`<b>${1}</b>`]}${null}${undefined}${nothing}${""}</p>`)).toBe(
    "<p>&lt;&amp;&quot; a<b>1</b></p>",
  );
  expect(textOf(html`<math>${[1, 2].map((n) => mathml`<mn>${n}</mn>`)}</math>`)).toBe(
    "<math><mn>1</mn><mn>2</mn></math>",
  );
  expect(textOf(html`<p>n = ${1}, a=${2}</p>`)).toBe("<p>n = 1, a=2</p>");
});

test("a boolean between tags is refused", () => {
  expect(() => textOf(html`<p>${false}</p>`)).toThrow(/write nothing or a text there/);
});

test("attributes are quoted and escaped, and left out where their value is nothing", () => {
  expect(textOf(html`<a class="x ${"y"} ${"z"}" href=${'"'} title=${nothing} lang=${"en"}>b</a>`)).toBe(
    '<a class="x y z" href="&quot;" lang="en">b</a>',
  );
  expect(textOf(html`<a aria-label="a > b ${1}" id="i">${2}</a>`)).toBe(
    '<a aria-label="a > b 1" id="i">2</a>',
  );
});

test("booleans are attributes without a value, properties are the attributes that a page starts with, listeners are not written", () => {
  const input = (on: boolean) =>
    textOf(html`<input ?disabled=${on} .checked=${live(on)} .value=${"v"} @click=${() => {}}>`);
  expect(input(true)).toBe('<input disabled checked value="v">');
  expect(input(false)).toBe('<input value="v">');
  expect(textOf(html`<output class="a" .textContent=${"<"}></output>`)).toBe(
    '<output class="a">&lt;</output>',
  );
});

test("a picture is written as it is", () => {
  expect(textOf(html`<div>${svgText("<svg><g/></svg>")}</div>`)).toBe("<div><svg><g/></svg></div>");
});

test("controls with a named action are complete in a static page", () => {
  const compact = (value: unknown) => textOf(value).replace(/\s+/g, " ").replaceAll(" >", ">");
  expect(compact(choice("", [["a", "A"]], "a", "mode"))).toBe(
    '<span class="choice"><button type="button" data-act="mode:a" aria-pressed="true">A</button></span>',
  );
  expect(
    compact(
      menu(
        "Keys",
        [
          [10, 10],
          [16, 16],
        ],
        16,
        "keys",
      ),
    ),
  ).toBe(
    '<select data-act="keys" aria-label="Keys"><option value="10">10</option><option value="16" selected>16</option></select>',
  );
  expect(compact(check("half", true, "half"))).toBe(
    '<label class="check"><input type="checkbox" data-act="half" checked>half</label>',
  );
  expect(compact(slider("Words", { min: 1, max: 4, step: 1, value: 3 }, "three", "n"))).toBe(
    '<input type="range" min="1" max="4" step="1" value="3" data-act="n" aria-label="Words" aria-valuetext="three"><output>three</output>',
  );
});
