import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import { withTemporaryFolder } from "../../../test/support/temporary-folder.ts";
import { isOutside } from "../../kit/errors.ts";
import { openDatabase } from "./database.ts";

/** Calls `use` with the path of a database that is not there yet. */
const withDatabase = (use: (path: string) => void): Promise<void> =>
  withTemporaryFolder((folder) => use(join(folder, "objects.db")));

/** Some pages of rows. */
function filled(path: string): void {
  const database = openDatabase(path);
  const rows = Array.from({ length: 200 }, (_, i) => ({
    collection: "maps",
    key: `a/${i}`,
    content: "x".repeat(500),
  }));
  database.commit({ rows });
  database.close();
}

describe("openDatabase", () => {
  const DAMAGES: Readonly<Record<string, readonly [(path: string) => void, RegExp]>> = {
    garbage: [(path) => writeFileSync(path, "garbage".repeat(1_000)), /not a database/],
    "cut off": [
      (path) => writeFileSync(path, readFileSync(path).subarray(0, 20_000)),
      /damaged|malformed/,
    ],
    "with a page of garbage": [
      (path) => {
        const bytes = readFileSync(path);
        bytes.fill(0xee, 8192, 12_288);
        writeFileSync(path, bytes);
      },
      /damaged|malformed/,
    ],
    "a folder": [
      (path) => {
        rmSync(path);
        mkdirSync(path);
      },
      /EISDIR|unable to open/,
    ],
    "of a newer layout": [
      (path) => {
        const file = new DatabaseSync(path);
        file.exec("PRAGMA user_version = 7");
        file.close();
      },
      /layout 7, this program knows 1: run the newer nodelet that wrote it/,
    ],
  };
  for (const [damage, [apply, why]] of Object.entries(DAMAGES))
    test(`a file that is ${damage} is refused with the reason, and left as it is`, () =>
      withDatabase((path) => {
        filled(path);
        apply(path);
        assert.throws(
          () => openDatabase(path),
          (error) => isOutside(error, "io") && why.test(error.message),
        );
        assert.throws(() => openDatabase(path), why, "it is refused again");
      }));

  test("rows that are set aside are kept with the reason until they are rewritten", () =>
    withDatabase((path) => {
      filled(path);
      const first = openDatabase(path);
      const row = { collection: "maps", key: "a/7", content: "x".repeat(500) };
      first.setAside([{ ...row, why: "it is not an object" }]);
      first.close();
      const again = openDatabase(path);
      assert.equal([...again.rows()].length, 199);
      assert.deepEqual(again.broken(), [{ ...row, why: "it is not an object" }]);
      again.commit({ rows: [{ ...row, content: "{}" }] });
      assert.deepEqual(again.broken(), []);
      again.close();
    }));
});
