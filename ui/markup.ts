/**
 * Templates: lit's tags, without its element. `html` for markup, `svg` and `mathml` for templates inside a picture or a formula. In the
 * browser `render` puts them in place; `textOf` (text-of.ts) writes them into static pages. Styles are classes or `css` (css.ts), never
 * attributes, because a strict policy refuses style attributes in markup.
 */
export { html, mathml, nothing, render, svg, type TemplateResult } from "lit/html.js";
