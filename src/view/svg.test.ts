import { expect, test } from "vitest";
import { Tensor } from "../core/tensor.ts";
import { colourAt, hex, placeOf } from "./color.ts";
import type { SeenText } from "./report.ts";
import { renderSvg } from "./svg.ts";

/** A text of n pieces, one layer, two heads: head 0 looks at itself, head 1 at everything alike. */
function seen(pieces: string[], text = "a text"): SeenText {
  const n = pieces.length;
  const weights = Float32Array.from({ length: 2 * n * n }, (_, i) =>
    i >= n * n ? 1 / n : i % (n + 1) ? 0 : 1,
  );
  const zeros = () => new Tensor(new Float32Array(2 * n * 4), [2, n, 4], "float32");
  const lse = new Tensor(new Float32Array(2 * n).fill(Math.log(n)), [2, n], "float32");
  return {
    text,
    pieces,
    layers: [{ weights: new Tensor(weights, [2, n, n], "float32"), lse, q: zeros(), k: zeros() }],
  };
}

/** Checks that tags nest and attributes are quoted; returns the number of elements. Enough for what the renderer writes. */
function wellFormed(svg: string): number {
  const open: string[] = [];
  let count = 0;
  const rest = svg.replace(
    /<(\/?)([a-z]+)((?: [\w:-]+="[^"<&]*(?:&(?:amp|lt|gt|quot);[^"<&]*)*")*)(\/?)>/g,
    (_, end, name, __, alone) => {
      if (end) expect(open.pop()).toBe(name);
      else count++;
      if (!end && !alone) open.push(name);
      return "";
    },
  );
  expect(open).toEqual([]);
  expect(rest.replace(/&(amp|lt|gt|quot);/g, "")).not.toMatch(/[<&]/);
  return count;
}

test("it is well-formed, has a title and a description, and no script or style sheet", () => {
  const svg = renderSvg([seen(["▁a", "▁b"])]);
  expect(wellFormed(svg)).toBeGreaterThan(10);
  expect(svg).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
  expect(svg).toContain('<title id="heed-title">Attention of “a text”</title>');
  expect(svg).toContain('<desc id="heed-desc">');
  expect(svg).not.toMatch(/<script|<style|<foreignObject|href|on\w+=/);
});

test("the same input gives the same bytes, with no more than two digits after the point in places", () => {
  const svg = renderSvg([seen(["▁a", "▁b", "c"])]);
  expect(renderSvg([seen(["▁a", "▁b", "c"])])).toBe(svg);
  expect(svg.match(/ (?:x|y|width|height)="[^"]*\.\d{3,}"/)).toBeNull();
});

test("text that looks like markup is shown, not obeyed", () => {
  const svg = renderSvg([seen(["▁<b>", "&amp;", '"'], '</text><script>alert("1")</script>')]);
  wellFormed(svg);
  expect(svg).toContain("&lt;script&gt;");
  expect(svg).not.toContain("<script>");
});

test("each cell has the colour of its weight, and says it", () => {
  const svg = renderSvg([seen(["▁a", "▁b", "▁c", "▁d"])]);
  expect(svg).toContain(`fill="${hex(colourAt(1, "plum"))}"><title>a → a 1.000</title>`);
  expect(svg).toContain(`fill="${hex(colourAt(0, "plum"))}"><title>a → b 0.000</title>`);
  expect(svg).toContain(`fill="${hex(colourAt(placeOf(0.25), "plum"))}"><title>d → b 0.250</title>`);
});

test("long texts become one path a colour and stay small", () => {
  const svg = renderSvg([seen(Array.from({ length: 128 }, (_, i) => `▁w${i}`))]);
  wellFormed(svg);
  expect(svg).not.toContain("<title>w0");
  expect(svg.length).toBeLessThan(60_000);
});

test("two texts bring their cosine; a chosen head stands alone with its numbers inside", () => {
  const two = renderSvg([seen(["▁a", "▁b"]), seen(["▁c"])], {
    cosines: [
      [1, 0.4506],
      [0.4506, 1],
    ],
  });
  wellFormed(two);
  expect(two).toContain(">0.451</text>");
  expect(two).toContain("Cosine 0.451 between");
  const one = renderSvg([seen(["▁a", "▁b"])], { layer: 0, head: 1 });
  expect(one).not.toContain("head 0");
  expect(one.match(/>50<\/text>/g)!.length).toBe(4);
});
