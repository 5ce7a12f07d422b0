// Licences of the packages whose code is inside the bundles, with their texts, for the packages that are published.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../setup/root.mjs";

const TITLE =
  "nodelet contains code of the packages below, each under its own licence. nodelet itself: LICENSE.\n";
const RULE = `${"-".repeat(80)}\n`;
const LICENCE_FILE = /^(licen[cs]e|copying|notice)(-\w+)?(\.(md|txt))?$/i;
/** For packages whose files do not say more than the licence's name. */
const NO_TEXT = "The package brings no text of its licence; see https://spdx.org/licenses/";

/** Text of `THIRD-PARTY-LICENSES`: packages by their folders in node_modules, each with what it says of its licence. */
export function licenceTexts(folders, packages) {
  return folders
    .map((folder) => {
      const name = folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length);
      const { version, license } = packages[folder];
      const texts = readdirSync(join(ROOT, folder))
        .filter((file) => LICENCE_FILE.test(file))
        .toSorted()
        .map((file) => readFileSync(join(ROOT, folder, file), "utf8").trim());
      const reported = texts.length > 0 ? texts : [NO_TEXT];
      return `${RULE}${name} ${version}: ${license}\n${reported.map((text) => `\n${text}\n`).join("")}`;
    })
    .reduce((all, text) => all + text, TITLE);
}
