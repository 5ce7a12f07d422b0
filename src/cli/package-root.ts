import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

/** Folder of the package: the checkout, or where it is installed. Holds `package.json` and `examples`. */
export function packageRoot(): string {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    if (existsSync(join(folder, "package.json"))) return folder;
    if (folder === dirname(folder)) return import.meta.dirname;
  }
}
