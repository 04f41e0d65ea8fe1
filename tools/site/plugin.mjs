/**
 * TypeDoc names pages after files; this names them after what they say: a chapter by its first heading, a module by what a
 * program imports ("heed/io"). It also corrects the links to the explorer and
 * the Lab on pages in folders, links commands that open a page of the Lab, and declares the names that examples assume.
 */
import { Converter, PageEvent, ReflectionKind } from "typedoc";
import { fromFolder, linkCommands } from "./links.mjs";
import { preludeOf } from "./prelude.mjs";

/** What programs import, where it is not the folder of the source. */
const MODULES = new Map([
  ["index", "heed"],
  ["view/element", "heed/attention-view"],
]);

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
      module.name = MODULES.get(module.name) ?? `heed/${module.name}`;
  });
  app.converter.on(Converter.EVENT_RESOLVE_END, ({ project }) => {
    for (const { comment } of Object.values(project.reflections))
      for (const part of comment?.getTags("@example").flatMap(({ content }) => content) ?? [])
        if (part.kind === "code")
          part.text = part.text.replace(
            /^(```\w*\n)([\s\S]*)$/,
            (_, fence, code) => `${fence}${preludeOf(code)}${code}`,
          );
  });
  // TypeDoc writes the addresses of navigationLinks as they are, on every page; they are relative to the site's first page.
  const links = Object.values(app.options.getValue("navigationLinks"));
  app.renderer.on(PageEvent.END, (page) => {
    if (page.contents !== undefined)
      page.contents = linkCommands(fromFolder(page.contents, page.url, links), page.url);
  });
}
