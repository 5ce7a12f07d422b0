import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { acceptsBrotli, documentPolicy, documentReader } from "./page-document.ts";

const hashOf = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

test("`documentPolicy` allows the document's own script and styles, and nothing else", () => {
  const styles = "body{color:red}\n";
  const script = 'const a = "ä";\nalert(a)';
  const policy = documentPolicy(
    `<head><style>${styles}</style></head><body><script type="module">${script}</script></body>`,
  );
  const directives = policy.split("; ");
  assert.equal(directives[0], "default-src 'none'");
  assert.ok(directives.includes(`script-src ${hashOf(script)}`), policy);
  assert.ok(directives.includes(`style-src ${hashOf(styles)}`), policy);
  assert.doesNotMatch(policy, /unsafe|script-src[^;]*'self'/);
});

test("`acceptsBrotli` follows the header", () => {
  const cases: readonly [string | undefined, boolean][] = [
    [undefined, false],
    ["", false],
    ["gzip, deflate", false],
    ["gzip, deflate, br, zstd", true],
    ["gzip;q=1.0,br;q=0.5", true],
    ["br;q=0", false],
    ["br; q=0.000", false],
    ["brotli", false],
  ];
  for (const [header, accepts] of cases)
    assert.equal(acceptsBrotli(header), accepts, String(header));
});

test("`documentReader` reads once, and again after a failure", async () => {
  const asked: string[] = [];
  let fails = true;
  const read = documentReader(async (name) => {
    asked.push(name);
    if (fails) throw new Error("no such file");
    return new TextEncoder().encode(name);
  });
  await assert.rejects(read(), /no such file/);
  fails = false;
  const document = await read();
  assert.equal(await read(), document);
  assert.equal(new TextDecoder().decode(document.brotli), "index.html.br");
  assert.deepEqual(asked, ["index.html", "index.html.br", "index.html", "index.html.br"]);
});
