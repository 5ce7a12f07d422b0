import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import fc from "fast-check";
import type { PayloadFile } from "../volume-files.ts";
import { writePayload } from "./payload.ts";
import { giveToGroup, groupMode } from "./volume-group.ts";

const base = mkdtempSync(join(tmpdir(), "payload-"));
after(() => rmSync(base, { recursive: true }));
let folders = 0;

function folder(): string {
  folders += 1;
  const path = join(base, `v${folders}`);
  mkdirSync(path);
  return path;
}

const file = (path: string, text: string, mode = 0o644): PayloadFile => ({
  path,
  content: Buffer.from(text),
  mode,
});

/** All files as a reader sees them, by path. */
function seen(root: string, prefix = ""): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(join(root, prefix))) {
    if (name.startsWith("..")) continue;
    const path = prefix === "" ? name : `${prefix}/${name}`;
    if (statSync(join(root, path)).isDirectory()) Object.assign(found, seen(root, path));
    else found[path] = readFileSync(join(root, path), "utf8");
  }
  return found;
}

const pathArb = fc
  .array(fc.constantFrom("a", "b", "c-d", "e.f", "deep"), { minLength: 1, maxLength: 3 })
  .map((parts) => parts.map((part, i) => (i < parts.length - 1 ? `d-${part}` : part)).join("/"));
const payloadArb = fc.dictionary(pathArb, fc.string({ maxLength: 20 }), { maxKeys: 6 });

test("whatever follows what, a volume holds the last payload, and writing it again changes nothing", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(payloadArb, { minLength: 1, maxLength: 5 }), async (payloads) => {
      const root = folder();
      for (const payload of payloads) {
        const files = Object.entries(payload).map(([path, text]) => file(path, text));
        await writePayload(root, files);
        assert.deepEqual(seen(root), { ...payload });
        assert.equal(await writePayload(root, files), false);
        const stamped = readdirSync(root).filter((name) => name.startsWith("..2"));
        assert.equal(stamped.length, 1);
      }
    }),
    { numRuns: 25 },
  );
});

test("a reader through ..data sees one payload or the other, never parts of both", async () => {
  const root = folder();
  const names = ["a", "b", "c"];
  const payload = (n: number) => names.map((name) => file(name, `${n}`));
  await writePayload(root, payload(0));
  let writing = true;
  const writer = (async () => {
    for (let n = 1; n <= 200; n += 1) await writePayload(root, payload(n));
    writing = false;
  })();
  let reads = 0;
  let torn = 0;
  while (writing) {
    // As programs that care do: hold the folder behind ..data, then read from it.
    const data = join(root, readlinkSync(join(root, "..data")));
    try {
      const texts = names.map((name) => readFileSync(join(data, name), "utf8"));
      torn += new Set(texts).size > 1 ? 1 : 0;
      reads += 1;
    } catch (error) {
      // The folder was replaced meanwhile: the next pass finds the new one.
      if (!String(error).includes("ENOENT")) throw error;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  await writer;
  assert.ok(reads > 10, `${reads} reads`);
  assert.equal(torn, 0);
});

test("modes, owners and the group of files and folders", async () => {
  const root = folder();
  const group = { groupId: 4242, readOnly: true };
  const files = [file("d/a", "x", 0o400), { ...file("token", "t", 0o600), ownerUid: 1000 }];
  await writePayload(root, files, group);
  const facts = (path: string) => {
    const { mode, uid, gid } = statSync(join(root, path));
    return [(mode & 0o7777).toString(8), uid, gid];
  };
  assert.deepEqual(facts("d/a"), ["440", 0, 4242]);
  assert.deepEqual(facts("token"), ["640", 1000, 4242]);
  assert.deepEqual(facts("d"), ["2755", 0, 4242]);
  assert.equal(lstatSync(join(root, "token")).gid, 4242);
  assert.equal(await writePayload(root, files, group), false);
  assert.equal(groupMode(0o644, "file", { readOnly: false }), 0o664);
  assert.equal(groupMode(0o755, "directory", { readOnly: false }), 0o2775);
});

/** A folder of the host that a volume must not touch. */
function host(): { path: string; intact: () => void } {
  const path = folder();
  writeFileSync(join(path, "a"), "host");
  mkdirSync(join(path, "..2020_01_01_00_00_00.x"));
  writeFileSync(join(path, "..2020_01_01_00_00_00.x/a"), "host");
  const before = seen(path);
  const names = readdirSync(path);
  return {
    path,
    intact: () => {
      assert.deepEqual(seen(path), before);
      assert.deepEqual(readdirSync(path), names);
      assert.ok(existsSync(join(path, "..2020_01_01_00_00_00.x/a")));
    },
  };
}

test("CVE-2017-1002102: links that a container puts in place lead no update elsewhere", async () => {
  const victim = host();
  const attacks: readonly ((root: string) => void)[] = [
    (root) => {
      rmSync(join(root, "..data"));
      symlinkSync(victim.path, join(root, "..data"));
    },
    (root) => {
      rmSync(join(root, "a"));
      symlinkSync(join(victim.path, "a"), join(root, "a"));
    },
    (root) => symlinkSync(victim.path, join(root, "..2020_01_01_00_00_00.evil")),
    (root) => {
      const [stamped = ""] = readdirSync(root).filter((name) => name.startsWith("..2"));
      renameSync(join(root, stamped), join(root, "elsewhere"));
      symlinkSync(victim.path, join(root, stamped));
    },
    (root) => {
      rmSync(join(root, "..data"));
      mkdirSync(join(root, "..data"));
      symlinkSync(victim.path, join(root, "..data/inner"));
    },
    (root) => {
      rmSync(join(root, "a"));
      mkdirSync(join(root, "a"));
      symlinkSync(victim.path, join(root, "a/inner"));
    },
  ];
  for (const [i, attack] of attacks.entries()) {
    const root = folder();
    await writePayload(root, [file("a", "1"), file("old", "1")]);
    attack(root);
    await writePayload(root, [file("a", "2")]);
    victim.intact();
    assert.equal(readFileSync(join(root, "a"), "utf8"), "2", `attack ${i}`);
  }
});

test("CVE-2017-1002102: a link to a file of the node with the same content is not taken for the volume's own", async () => {
  const root = folder();
  const host = join(base, "same-content");
  const payload = [file("a", "same")];
  await writePayload(root, payload);
  const { mode } = statSync(join(root, "a"));
  writeFileSync(host, "same");
  chmodSync(host, mode);
  assert.equal(await writePayload(root, payload), false, "nothing changed");
  const [stamped = ""] = readdirSync(root).filter((name) => name.startsWith("..2"));
  rmSync(join(root, stamped, "a"));
  symlinkSync(host, join(root, stamped, "a"));
  assert.equal(await writePayload(root, payload), true, "it is written again");
  assert.ok(lstatSync(join(root, "..data/a")).isFile());
  assert.equal(readFileSync(host, "utf8"), "same");
});

test("giveToGroup gives links away, not their targets, and stops early only when configured", async () => {
  const root = folder();
  const outside = join(base, "outside-file");
  writeFileSync(outside, "", { mode: 0o600 });
  mkdirSync(join(root, "d"));
  writeFileSync(join(root, "d/f"), "", { mode: 0o600 });
  symlinkSync(outside, join(root, "d/link"));
  await giveToGroup(root, { groupId: 77, readOnly: false });
  assert.deepEqual([statSync(outside).gid, statSync(outside).mode & 0o7777], [0, 0o600]);
  assert.deepEqual(
    [statSync(join(root, "d/f")).gid, statSync(join(root, "d/f")).mode & 0o7777],
    [77, 0o660],
  );
  assert.equal(lstatSync(join(root, "d/link")).gid, 77);
  writeFileSync(join(root, "d/late"), "", { mode: 0o600 });
  await giveToGroup(root, { groupId: 77, readOnly: false, onlyOnMismatch: true });
  assert.equal(statSync(join(root, "d/late")).mode & 0o7777, 0o600);
  await giveToGroup(root, { groupId: 77, readOnly: false });
  assert.equal(statSync(join(root, "d/late")).mode & 0o7777, 0o660);
});
