// Part of dist/nodelet.cjs: loads a program with the code that V8 compiled of it when it was built.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { Script } from "node:vm";
import { scriptOptions, wrappedText } from "./program-text.mjs";

const DIGEST_BYTES = 32;

/**
 * Loads `<name>.cjs` of a folder and returns what it exports. Its code cache is used if it was made of this very text by this version of Node on such
 * a processor, and V8 accepts it, which depends on V8's flags, too; without it V8 compiles each function when it is first called.
 */
export function loadProgram(name, folder, require) {
  const path = `${folder}/${name}.cjs`;
  const program = compiledProgram(path, `${folder}/${name}.code-cache`);
  if (program === undefined) return require(path);
  const module = { exports: {} };
  program(module.exports, require, module, path, folder);
  return module.exports;
}

function compiledProgram(path, cachePath) {
  try {
    const [text, cache] = [readFileSync(path), readFileSync(cachePath)];
    const cachedData = cache.subarray(0, -DIGEST_BYTES);
    if (!cache.subarray(-DIGEST_BYTES).equals(cacheDigest(text, cachedData))) return undefined;
    const script = new Script(wrappedText(text), { ...scriptOptions(path), cachedData });
    return script.cachedDataRejected ? undefined : script.runInThisContext();
  } catch {
    // It only saves time: what is wrong with the program itself is reported by loading it without.
    return undefined;
  }
}

/** SHA-256 of what belongs together: V8 itself compares only the length of a text, and no data. */
export function cacheDigest(text, cachedData) {
  const machine = `${process.version} ${process.arch}\n`;
  return createHash("sha256").update(machine).update(text).update(cachedData).digest();
}
