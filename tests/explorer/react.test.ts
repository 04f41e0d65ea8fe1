/** The props of the React component: the compiler checks their types here, this test what they become. */
import { createElement } from "react";
// @ts-expect-error its types are not installed
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { AttentionView, type AttentionViewProps } from "../../explorer/entries/react.ts";
import type { AttentionViewAttributes } from "../../src/view/element.ts";

const attributes: Required<Omit<AttentionViewAttributes, "key">> = {
  src: "/run.safetensors",
  theme: "dark",
  keys: "off",
  controls: "few",
  background: "none",
  parts: "caption legend",
  address: true,
  view: "head",
  mode: "lines",
  stage: "weights",
  block: "encoder",
  layer: 4,
  head: 7,
  query: 3,
};

it("every attribute of the element is a prop", () => {
  const props: AttentionViewProps = { ...attributes, keyIndex: 2, id: "one", className: "wide" };
  const markup = renderToStaticMarkup(createElement(AttentionView, props));
  for (const [name, value] of Object.entries(attributes))
    expect(markup).toContain(name === "address" ? " address" : ` ${name}="${value}"`);
  expect(markup).toContain(' id="one" class="wide"');
});

it("with data, no address is opened", () => {
  const props: AttentionViewProps = { src: "/run.safetensors", data: new Uint8Array(1) };
  expect(renderToStaticMarkup(createElement(AttentionView, props))).toBe("<attention-view></attention-view>");
});
