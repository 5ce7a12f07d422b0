import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { normalImageName } from "../../api/text/image-reference.ts";
import { globMatches } from "./glob.ts";
import { matchesName, registryOf, repositoryOf, writtenRepository } from "./image-names.ts";
import { ImageIndex } from "./image-record.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;

for (const [name, normal, repository, registry] of [
  ["nginx", "docker.io/library/nginx:latest", "docker.io/library/nginx", "docker.io"],
  ["a/b:1", "docker.io/a/b:1", "docker.io/a/b", "docker.io"],
  ["r.example:5000/x", "r.example:5000/x:latest", "r.example:5000/x", "r.example:5000"],
  [`r.example/x:1@${DIGEST}`, `r.example/x@${DIGEST}`, "r.example/x", "r.example"],
] as const)
  test(`\`normalImageName\` of ${name}`, () => {
    assert.equal(normalImageName(name), normal);
    assert.equal(repositoryOf(name), repository);
    assert.equal(registryOf(name), registry);
  });

for (const [name, written] of [
  ["nginx", "nginx"],
  ["nginx:1.25", "nginx"],
  [`nginx@${DIGEST}`, "nginx"],
  [`nginx:1.25@${DIGEST}`, "nginx"],
  ["library/nginx:1", "library/nginx"],
  ["docker.io/library/nginx:1", "docker.io/library/nginx"],
  ["index.docker.io/library/nginx", "index.docker.io/library/nginx"],
  ["r.example:5000/x", "r.example:5000/x"],
  ["r.example:5000/x:5000", "r.example:5000/x"],
  [`r.example:5000/x:1@${DIGEST}`, "r.example:5000/x"],
  ["localhost/a/b:v1", "localhost/a/b"],
  ["Not A Name:1", "Not A Name:1"],
] as const)
  test(`\`writtenRepository\` of ${name}`, () => {
    assert.equal(writtenRepository(name), written);
  });

for (const [pattern, name, matches] of [
  ["nginx", "docker.io/library/nginx:1.25", true],
  ["nginx:1.25", "docker.io/library/nginx:1.25", true],
  ["nginx:1.24", "docker.io/library/nginx:1.25", false],
  ["team/*", "docker.io/team/app:2", true],
  ["r.example/base/*", "r.example/base/deep/os:1", true],
  ["r.example/base/*", "r.example/based:1", false],
  ["*/pause", "r.example/pause:3.9", true],
  ["*/pause:3.*", "r.example/pause:3.9", true],
  ["*", "r.example/x:1", true],
  ["r.example/x", `r.example/x@${DIGEST}`, true],
] as const)
  test(`\`matchesName\`: ${pattern} means ${name}: ${matches}`, () => {
    assert.equal(matchesName(pattern, name), matches);
  });

test("`globMatches` agrees with the regular expression of the same pattern", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "."), maxLength: 8 });
  const glob = fc.string({ unit: fc.constantFrom("a", "b", "*", "?"), maxLength: 6 });
  fc.assert(
    fc.property(glob, text, (pattern, given) => {
      const source = [...pattern].map((c) => (c === "*" ? ".*" : c === "?" ? "." : c)).join("");
      assert.equal(globMatches(pattern, given), new RegExp(`^${source}$`).test(given));
    }),
  );
});

test("`ImageIndex` finds an image by id, by bare id and by any of its names", () => {
  const id = `sha256:${"b".repeat(64)}`;
  const index = new ImageIndex([
    {
      id,
      tags: ["docker.io/library/nginx:latest"],
      digests: [`docker.io/library/nginx@${DIGEST}`],
    },
  ]);
  for (const name of [id, "b".repeat(64), "nginx", "docker.io/library/nginx", `nginx@${DIGEST}`])
    assert.equal(index.idOf(name), id, name);
  for (const name of ["", "nginx:1", "other"]) assert.equal(index.idOf(name), undefined, name);
});
