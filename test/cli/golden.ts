/** Texts that are compared with a file; `UPDATE_GOLDEN=1` writes the files again, to be reviewed in the diff. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const FOLDER = join(import.meta.dirname, "golden");

/** Fails when `text` is not what the golden file `name`, relative to the folder `golden`, holds. */
export function assertGolden(name: string, text: string): void {
  const file = join(FOLDER, name);
  if (process.env["UPDATE_GOLDEN"] === "1") {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return;
  }
  assert.ok(
    existsSync(file),
    `${file} is missing: run the test with UPDATE_GOLDEN=1 and review it`,
  );
  assert.equal(text, readFileSync(file, "utf8"), `differs from ${file}`);
}
