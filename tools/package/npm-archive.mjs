// The package for npm: nodelet-VERSION.tgz.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { setTimes } from "./stage.mjs";

/** Packs the staged folder; npm itself sorts the files and gives them one time. */
export function packForNpm({ stage, out, version, epochSeconds }) {
  setTimes(stage, epochSeconds);
  execFileSync("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", out], {
    cwd: stage,
    stdio: ["ignore", "ignore", "inherit"],
  });
  return [join(out, `nodelet-${version}.tgz`)];
}
