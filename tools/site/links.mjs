/** Links of the site's pages: those of its navigation, from every folder, and a check that each leads to a page. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

/**
 * The markup of a page, with links that are relative to the site's first page made relative to this page.
 * @param {string} markup @param {string} page its path in the site @param {readonly string[]} links
 */
export function fromFolder(markup, page, links) {
  const up = "../".repeat(page.split("/").length - 1);
  return links.reduce((text, link) => text.replaceAll(`href="${link}"`, `href="${up}${link}"`), markup);
}

/**
 * The markup of a page, with each command that opens a page of the Lab linked to that page.
 * @param {string} markup @param {string} page its path in the site
 */
export function linkCommands(markup, page) {
  const up = "../".repeat(page.split("/").length - 1);
  return markup.replaceAll(
    /<code>heed lab ([a-z]+)<\/code>/g,
    (command, name) => `<a href="${up}lab/${name}.html">${command}</a>`,
  );
}

/** @param {string} folder @returns {string[]} */
const pagesOf = (folder) =>
  readdirSync(folder, { withFileTypes: true }).flatMap((one) =>
    one.isDirectory()
      ? pagesOf(join(folder, one.name))
      : one.name.endsWith(".html")
        ? [join(folder, one.name)]
        : [],
  );

/**
 * Links from one page of a site to another, or to a file of it, that lead nowhere: the page, and the link. A fragment must be an
 * id of its page, except the states of the explorer and the Lab (#v1).
 * @param {string} folder
 */
export function brokenLinks(folder) {
  /** @type {Map<string, string>} */
  const texts = new Map();
  const textOf = (/** @type {string} */ file) => {
    const text =
      texts.get(file) ?? readFileSync(file, "utf8").replace(/<script\b[^>]*>[\s\S]*?<\/script>/g, "");
    texts.set(file, text);
    return text;
  };
  const hasId = (/** @type {string} */ file, /** @type {string} */ id) =>
    textOf(file).includes(` id="${id.replaceAll("&", "&amp;")}"`);
  /** @type {string[]} */
  const broken = [];
  for (const page of pagesOf(folder))
    for (const [, written] of textOf(page).matchAll(/<(?:a|link|img)\b[^>]*?\s(?:href|src)="([^"]*)"/g)) {
      const link = written.replaceAll("&amp;", "&");
      if (/^(?:[a-z]+:|\/\/)/.test(link)) continue;
      const [path, id] = link.split("#");
      const file = path === "" ? page : resolve(dirname(page), decodeURIComponent(path.split("?")[0]));
      const target =
        existsSync(file) &&
        statSync(file).isFile() &&
        (id === undefined || id === "" || /^v1[/?]/.test(id) || hasId(file, decodeURIComponent(id)));
      if (!target) broken.push(`${relative(folder, page)}: ${link}`);
    }
  return broken;
}
