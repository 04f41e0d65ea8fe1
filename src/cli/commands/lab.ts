/** `heed lab`: the interactive lessons, served on this machine by the explorer's server under its policy. */
import { labPages } from "../../server/assets.ts";
import { startServer } from "../../server/server.ts";
import { serveUntilInterrupted } from "../support/explorer/explore.ts";
import { SERVE_HELP, serveOptions } from "../support/explorer/serve-options.ts";
import { type Command, UsageError } from "../support/line/command.ts";
import { didYouMean } from "../support/line/suggest.ts";
import { jsonText } from "../support/output/terminal.ts";

/** The page of `heed learn`. */
export const COURSE = "course";

export const command: Command = {
  name: "lab",
  summary: "learn attention by doing, in the browser",
  usage: "heed lab [PAGE[#stopN]] [OPTIONS]",
  help: { ...SERVE_HELP, json: "print the address and the names of the pages as JSON" },
  notes:
    "Everything is computed in the page; nothing is sent anywhere. Without PAGE, the map of all pages is opened. #stopN is the N-th step of a page's text.",
  examples: ["heed lab", "heed lab saturation#stop3", "heed lab masks --port 8080 --no-open"],
  async run(values, positionals, io) {
    if (positionals.length > 1) throw new UsageError(`lab takes one page at most, got ${positionals.length}`);
    const options = serveOptions(values);
    const pages = labPages();
    const names = [...pages.keys()].flatMap((path) => /^\/(?!index)([a-z-]+)\.html$/.exec(path)?.[1] ?? []);
    names.push(COURSE);
    const [name, stop] = positionals[0]?.split("#") ?? [];
    if (name !== undefined && !names.includes(name))
      throw new UsageError(
        `there is no page ${JSON.stringify(name)}${didYouMean(name, names) || `; the pages are ${names.join(", ")}`}`,
      );
    const server = await startServer({ pages }, options);
    // The pages have no user data, so the address needs no token.
    const path = name === undefined ? "/" : name === COURSE ? `/${name}/index.html` : `/${name}.html`;
    const url = new URL(stop ? `${path}#${stop}` : path, server.url).href;
    const print = values.json ? () => jsonText({ url, pages: names }) : undefined;
    return serveUntilInterrupted({ ...server, url }, options, io, print);
  },
};
