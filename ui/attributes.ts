/** Attributes of an element of heed that it does not have: a page that names one gets a sentence about it. */

/** Attributes that any element has. */
const GLOBAL =
  /^(accesskey|autofocus|class|contenteditable|dir|draggable|exportparts|hidden|id|inert|is|item[a-z]+|lang|nonce|part|popover|role|slot|spellcheck|style|tabindex|title|translate)$/;

/** The attributes that are neither `names` nor global. Names with other characters are those of frameworks; `onclick` is a listener. */
export const unknownAttributes = (element: Element, names: readonly string[]): string[] =>
  element.getAttributeNames().filter((name) => {
    return !names.includes(name) && !GLOBAL.test(name) && !/^(on|_)|[^a-z_]/.test(name);
  });
