/** `heed html`: the explorer with a file of attention in it, as one HTML file that opens from disk and makes no request. */
import { basename, extname } from "node:path";
import { builtFile } from "../../server/assets.ts";
import type { BundleOptions } from "../../store/formats/bundle.ts";
import type { HeadStore } from "../../store/head-store.ts";
import { tellingLink } from "../../store/sentences/telling.ts";
import { htmlFile } from "../../view/html.ts";
import { addressOf, openingBlock } from "../support/explorer/explore.ts";
import { FILE_NOTES, INPUT_HELP, openInput } from "../support/input/attention-file.ts";
import { BUNDLE_DTYPES, bundleOptions } from "../support/input/bundle-options.ts";
import { type Command, EXIT, UsageError } from "../support/line/command.ts";
import { oneOf } from "../support/line/values.ts";
import { save } from "../support/output/interrupt.ts";
import { checkPlace, outputOf } from "../support/output/output.ts";
import { bytesText, jsonText } from "../support/output/terminal.ts";

export const command: Command = {
  name: "html",
  summary: "write the explorer and a file of attention as one HTML file",
  usage: `heed html FILE -o PAGE.html [OPTIONS]
    heed html --text TEXT -o PAGE.html [OPTIONS]`,
  help: {
    output: "PAGE.html  the file to write",
    title: "TEXT  title of the page (default: the file's name)",
    theme: "THEME  auto (default), light or dark",
    layers: "LIST  only these layers, such as 0,4-7",
    heads: "LIST  only these heads",
    first: "N  only the first N tokens",
    dtype: `DTYPE  store numbers as ${BUNDLE_DTYPES.join(", ")} (default: as they are)`,
    "no-values": "omit the value vectors",
    ...INPUT_HELP,
    json: "print the file's size as JSON",
  },
  notes: `${FILE_NOTES}
The page holds the explorer and the data; opened from disk it makes no request, and its security policy allows none.`,
  examples: [
    "heed html run.safetensors -o run.html",
    "heed html run.safetensors -o run.html --dtype float16 --layers 0-3",
    'heed html attention.npz --tokens tokens.json --title "Two heads" -o heads.html',
  ],
  async run(values, positionals, io) {
    const output = outputOf(values, ".html or .htm", "say where the page goes: -o run.html");
    const theme = oneOf("theme", values.theme ?? "auto", ["auto", "light", "dark"] as const);
    const options = bundleOptions(values);
    await checkPlace(output);
    const module = new TextDecoder().decode(builtFile("attention-view.js"));
    const { store, name: called } = await openInput(values, positionals, io);
    try {
      checkParts(store, options);
      const spot = await tellingLink(store, { block: openingBlock(store) });
      const spotInPage = spot && isKept(spot, options);
      const hash = spot && spotInPage ? addressOf(store.blocks[spot.block].name, spot) : undefined;
      const name = `${basename(called, extname(called))}.safetensors`;
      const data = await store.bundle(options);
      const title = (values.title as string | undefined) ?? called;
      const file = new TextEncoder().encode(await htmlFile({ module, data, name, title, hash, theme }));
      await save(output, file);
      if (values.json) io.stdout.write(jsonText({ output, bytes: file.length, data: data.length }));
      else
        io.stdout.write(`${output}: ${bytesText(file.length)}, of which ${bytesText(data.length)} of data\n`);
      return EXIT.ok;
    } finally {
      store.dispose();
    }
  },
};

/** Throws for layers and heads that the file does not have. */
function checkParts({ blocks }: HeadStore, { layers, heads }: BundleOptions): void {
  for (const layer of layers ?? [])
    if (!blocks.some((block) => block.layers.includes(layer)))
      throw new UsageError(
        `--layers: there is no layer ${layer}; ${blocks.map(({ name, layers }) => `${name} has ${layers[0]} to ${layers[layers.length - 1]}`).join(", ")}`,
      );
  for (const head of heads ?? [])
    if (!blocks.some((block) => head < block.heads))
      throw new UsageError(
        `--heads: there is no head ${head}; ${blocks.map(({ name, heads }) => `${name} has 0 to ${heads - 1}`).join(", ")}`,
      );
}

/** Whether a cell keeps its layer, head, query and key in the page. */
function isKept(
  spot: { readonly layer: number; readonly query: number; readonly key: number },
  { layers, heads, tokens }: BundleOptions,
): boolean {
  const inside = tokens === undefined || (spot.query < tokens && spot.key < tokens);
  // Heads are renumbered if some are left out.
  return inside && heads === undefined && (layers?.includes(spot.layer) ?? true);
}
