/**
 * `npm start`: installs and builds what is missing, then runs the main job, `heed show`, with the arguments given:
 * `npm start -- "time flies like an arrow" "fruit flies like a banana"`. Runs on Node 20.19 with nothing installed;
 * the job itself runs on the pinned Node, whose engine has every SIMD level.
 */
import { at, build, foreground, install, pinned, root } from "./setup.mjs";

process.chdir(root);
install();
build();
process.exitCode = await foreground(pinned(), [at("dist/cli/main.js"), "show", ...process.argv.slice(2)]);
