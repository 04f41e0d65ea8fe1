/**
 * `npm start`: installs and builds what is missing, then runs the main job with the given arguments: the attention of a real model
 * on a text, printed to the terminal and then served in the explorer until Ctrl-C (`heed show --view`).
 * `npm start -- "time flies like an arrow" "fruit flies like a banana"`; with `--no-view` (or `--json`) it only prints.
 * Runs on Node 20.19 with nothing installed; the job itself runs on the pinned Node, whose engine has every SIMD level.
 */
import { at, build, foreground, install, pinned, root } from "./setup.mjs";

const given = process.argv.slice(2);
const prints = given.some((arg) => ["--no-view", "--json", "--help", "-h"].includes(arg));
const args = given.filter((arg) => arg !== "--no-view" && arg !== "--view");
if (!prints) args.unshift("--view");

process.chdir(root);
install();
build();
// Without a text: five sentences captured from a larger model.
const plain = args.includes("--view") && args.every((arg) => ["--view", "--no-open", "--all"].includes(arg));
const command = plain ? ["view", ...args.filter((arg) => arg !== "--view")] : ["show", ...args];
process.exitCode = await foreground(pinned(), [at("dist/cli/main.js"), ...command]);
