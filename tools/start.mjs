/**
 * `npm start`: installs and builds what is missing, then runs the main job with the given arguments: the attention of a real model
 * on a text, printed to the terminal and then served in the explorer until Ctrl-C (`heed show --view`); without a text, five captured
 * sentences (`heed view`). `npm start -- "time flies like an arrow" "fruit flies like a banana"`; with `--no-view` (or `--json`) it
 * only prints. Runs on Node 20.19 with nothing installed; the job itself runs on the pinned Node, whose engine has every SIMD level.
 */
import { at, build, foreground, install, pinned, root } from "./setup.mjs";
import { startCommand } from "./start-command.mjs";

process.chdir(root);
install();
build();
const { args, env } = startCommand(process.argv.slice(2));
Object.assign(process.env, env);
process.exitCode = await foreground(pinned(), [at("dist/cli/main.js"), ...args]);
