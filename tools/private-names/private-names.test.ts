import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { build } from "esbuild";
import { plainPrivateNames, sourceName } from "./private-names.mjs";

const folder = mkdtempSync(join(tmpdir(), "private-names-"));
after(() => rmSync(folder, { recursive: true }));

/** Members of all kinds, with names that a class above, one inside and Node's own have, too. */
const BASE = `
  export class Base {
    #name: string = "base";
    static #made = 0;
    constructor() { Base.#made += 1; }
    static get made(): number { return Base.#made; }
    get #shown(): string { return \`<\${this.#name}>\`; }
    #write<T>(this: Base, value: T): T { return value; }
    async #later(): Promise<string> { return this.#write(this.#shown); }
    base(): Promise<string> { return this.#later(); }
  }
`;
const MAIN = `
  import { Writable } from "node:stream";
  import { Base } from "./base.ts";
  class Derived extends Base {
    readonly #name = "derived";
    readonly #inner = new (class { #name = "inner"; show() { return this.#name; } })();
    #count: number | undefined;
    count(): number { this.#count = (this.#count ?? 0) + 1; return this.#count; }
    names(): readonly string[] { const self = this as Derived; return [self.#name, self?.#inner.show()]; }
  }
  class Sink extends Writable {
    #write: string[] = [];
    override _write(piece: unknown, _: string, done: () => void): void { this.#write.push("#" + piece); done(); }
    get text(): string { return this.#write.join(); }
  }
  const derived = new Derived();
  const sink = new Sink();
  sink.end("text");
  console.log(JSON.stringify([await derived.base(), derived.names(), derived.count(), derived.count(), Base.made, sink.text]));
`;

function written(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const run = (path: string) =>
  JSON.parse(execFileSync(process.execPath, [path], { encoding: "utf8" }));

test("plainPrivateNames: a bundle does what its sources do, without a private name", async () => {
  written("base.ts", BASE);
  const entryPoints = [written("main.ts", MAIN)];
  const outfile = join(folder, "out.mjs");
  const plugins = [plainPrivateNames(folder)];
  const { outputFiles } = await build({
    entryPoints,
    plugins,
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    minifyWhitespace: true,
    write: false,
  });
  const text = outputFiles[0]?.text ?? "";
  writeFileSync(outfile, text);
  const expected = ["<base>", ["derived", "inner"], 1, 2, 1, "#text"];
  assert.deepEqual(run(join(folder, "main.ts")), expected);
  assert.deepEqual(run(outfile), expected);
  assert.deepEqual(text.match(/#\w+/g), null);
});

test("plainPrivateNames: a question that plain names cannot answer fails the build, with the file", async () => {
  const other = mkdtempSync(join(folder, "other-"));
  const path = join(other, "asks.ts");
  writeFileSync(path, "export class A { #a = 1; static is(o: object) { return #a in o; } }");
  const plugins = [plainPrivateNames(other)];
  const failing = build({ entryPoints: [path], plugins, write: false, logLevel: "silent" });
  await assert.rejects(failing, /asks\.ts: #a in/);
});

test("sourceName: plain names lose their end, others stay", () => {
  assert.equal(sourceName("take$12_k7"), "take");
  for (const name of ["take", "$", "take$1", "a$b_c", "take$1_"])
    assert.equal(sourceName(name), name);
});
