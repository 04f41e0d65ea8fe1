/** Elements that panes create, place and listen to themselves, because they change in every frame. */

/** The attributes of what only shows what others say. */
export const HIDDEN = { "aria-hidden": "true" } as const;

/** Creates an element with classes, attributes and children. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  name = "",
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly Node[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (name !== "") element.className = name;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** Sets lengths in pixels. */
export function put(element: HTMLElement, styles: Readonly<Record<string, number>>): void {
  for (const name in styles) element.style.setProperty(name, `${styles[name]}px`);
}

/** The element at an index of a list that grows: a new one is the last child of `root`. */
export function nth<E extends HTMLElement>(list: E[], index: number, root: HTMLElement, create: () => E): E {
  list[index] ??= root.appendChild(create());
  return list[index];
}

/** Listens to an event until the signal ends it; passive listeners cannot prevent what the browser does. */
export function on<K extends keyof HTMLElementEventMap>(
  element: HTMLElement,
  signal: AbortSignal,
  name: K,
  listener: (event: HTMLElementEventMap[K]) => void,
  passive = true,
): void {
  element.addEventListener(name, listener, { signal, passive });
}
