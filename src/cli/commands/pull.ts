/** `heed pull ORG/NAME`: downloads a model from the Hugging Face hub into the cache of its Python library. */
import { pullModel } from "../../models/index.ts";
import { type Command, EXIT, UsageError } from "../support/line/command.ts";
import { answers } from "../support/output/interrupt.ts";
import { startProgress } from "../support/output/progress.ts";
import { bytesText, jsonText } from "../support/output/terminal.ts";

export const command: Command = {
  name: "pull",
  summary: "download a model from the Hugging Face hub",
  usage: "heed pull ORG/NAME[@REVISION] [OPTIONS]",
  help: { json: "print what was downloaded as JSON" },
  notes: `The files go into Hugging Face's cache (HF_HUB_CACHE, or hub/ in HF_HOME, or ~/.cache/huggingface/hub), which Python shares:
heed show --model ORG/NAME "a text" finds models that either downloaded. Existing files are not downloaded again, and an interrupted
download resumes where it stopped. HF_ENDPOINT names another server; HF_TOKEN is sent to it. This is the only command that opens a
connection.`,
  examples: [
    "heed pull sentence-transformers/all-MiniLM-L6-v2",
    "HF_TOKEN=hf_... heed pull meta-llama/Llama-3.2-1B",
  ],
  async run(values, positionals, io) {
    const [name, ...more] = positionals;
    if (name === undefined || more.length > 0)
      throw new UsageError("name one model: heed pull sentence-transformers/all-MiniLM-L6-v2");
    const bar = startProgress(io, "pull");
    const pulled = await answers(() =>
      pullModel(name, {
        env: io.env,
        signal: io.signal,
        onProgress: ({ file, done, total }) =>
          bar.update(total === 0 ? 0 : done / total, `${bytesText(done)} of ${bytesText(total)}, ${file}  `),
        onRetry: (message) => {
          bar.end();
          io.stderr.write(`heed pull: ${message}\n`);
        },
      }),
    ).finally(() => bar.end());
    const downloaded = pulled.files.reduce((sum, file) => sum + file.downloaded, 0);
    if (values.json) io.stdout.write(jsonText(pulled));
    else {
      const size = pulled.files.reduce((sum, file) => sum + file.size, 0);
      io.stdout.write(
        `${pulled.name} at ${pulled.commit.slice(0, 12)}: ${pulled.files.length} files, ${bytesText(size)}, ${downloaded === 0 ? "all downloaded already" : `${bytesText(downloaded)} downloaded`}\n${pulled.directory}\n`,
      );
    }
    return EXIT.ok;
  },
};
