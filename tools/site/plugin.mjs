/**
 * TypeDoc names pages after files; this names them after what they say: a chapter by its first heading, a module by what a
 * program imports ("heed/io"). It also corrects the links to the explorer and
 * the Lab on pages in folders, and links commands that open a page of the Lab.
 */
import { Converter, PageEvent, ReflectionKind } from "typedoc";
import { fromFolder, linkCommands } from "./links.mjs";

/**
 * The first heading of a page.
 * @param {{ kind: string, text: string }[]} parts
 * @param {boolean} remove whether it is taken out of the text
 * @returns {string | undefined}
 */
function heading(parts, remove) {
  const first = parts.find((part) => part.kind === "text");
  const match = first && /^\s*# (.+)\n/.exec(first.text);
  if (!first || !match) return undefined;
  if (remove) first.text = first.text.slice(match[0].length);
  return match[1].replaceAll("`", "");
}

/** @param {import("typedoc").Application} app */
export function load(app) {
  app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, document) => {
    document.name = heading(document.content, false) ?? document.name;
  });
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    if (project.readme) heading(project.readme, true);
    for (const module of project.getReflectionsByKind(ReflectionKind.Module))
      module.name = module.name === "index" ? "heed" : `heed/${module.name}`;
  });
  // TypeDoc writes the addresses of navigationLinks as they are, on every page; they are relative to the site's first page.
  const links = Object.values(app.options.getValue("navigationLinks"));
  app.renderer.on(PageEvent.END, (page) => {
    if (page.contents !== undefined)
      page.contents = linkCommands(fromFolder(page.contents, page.url, links), page.url);
  });
}
