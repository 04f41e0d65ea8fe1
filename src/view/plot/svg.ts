/**
 * Elements of SVG as text: the one writer of figures, charts, and the Lab. Numbers have at most two decimals, so the same picture
 * has the same bytes everywhere. There are no `style` attributes, which a strict content security policy refuses: color and size
 * are presentation attributes or classes.
 */

/** Attributes of an element, in the order they are written. Numbers are coordinates; `undefined` is left out. */
export type Attributes = Readonly<Record<string, string | number | undefined>>;

/** At most two digits after the point, the same on every engine. */
export function coordinate(value: number): string {
  const digits = String(Number(value.toFixed(2)));
  return digits === "-0" ? "0" : digits;
}

const ESCAPES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Escapes text for an element or an attribute. Characters that XML forbids are already removed from labels (label.ts). */
export function escapeXml(content: string): string {
  return content.replace(/[&<>"]/g, (c) => ESCAPES[c]);
}

/** `<name a="b">inside</name>`, numbers as coordinates. */
export function element(name: string, attributes: Attributes, inside = ""): string {
  let start = `<${name}`;
  for (const [key, value] of Object.entries(attributes))
    if (value !== undefined)
      start += ` ${key}="${typeof value === "number" ? coordinate(value) : escapeXml(value)}"`;
  return inside === "" ? `${start}/>` : `${start}>${inside}</${name}>`;
}

/** A text element at a position. */
export function text(x: number, y: number, content: string, attributes: Attributes = {}): string {
  return element("text", { x, y, ...attributes }, escapeXml(content));
}
