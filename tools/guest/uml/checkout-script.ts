/** Scripts of this checkout in a guest: it has the checkout, the cache and Go at the paths that they have here. */
import { realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { CACHE_DIR } from "../../debian-suite.mjs";
import { goCommand } from "../../go/go-command.mjs";

const ROOT = join(import.meta.dirname, "../../..");

/** Everything takes about so many times longer there. */
const TIMEOUT_FACTOR = 4;

/** A command for `runInMachine`, and the folders that it needs beside checkout and cache. */
interface CheckoutScript {
  readonly command: string;
  readonly folders: readonly string[];
}

/** Runs a script of this checkout (path below it, then its arguments) with this Node, from the checkout's root. */
export function checkoutScript(
  argv: readonly [script: string, ...words: string[]],
): CheckoutScript {
  const command = goCommand();
  // The guest has no Go of its own; by its version the programs are found that were built here.
  const go = command === undefined ? undefined : dirname(realpathSync(command));
  // Arguments may hold anything; a shell reads the command.
  const encoded = Buffer.from(JSON.stringify(argv)).toString("base64");
  const lines = [
    `cd ${ROOT}`,
    ...(go === undefined ? [] : [`export PATH="$PATH:${go}"`]),
    `export XDG_CACHE_HOME=${dirname(CACHE_DIR)}`,
    `export NODELET_TEST_TIMEOUT_FACTOR=${TIMEOUT_FACTOR}`,
    `${process.execPath} tools/guest/uml/run-script.mjs ${encoded}`,
  ];
  return { command: lines.join("\n"), folders: go === undefined ? [] : [dirname(go)] };
}
