import assert from "node:assert/strict";
import { test } from "node:test";
import { lookupCredentials, matchesImage, parseDockerConfig } from "./keyring.ts";

for (const [glob, image, matches] of [
  ["*.docker.io", "blah.docker.io/x", true],
  ["*.docker.io", "not.right.io/x", false],
  ["*.docker.io", "a.b.docker.io/x", false],
  ["registry.example", "registry.example/x", true],
  ["registry.example", "registry.example:5000/x", false],
  ["registry.example:5000", "registry.example:5000/x", true],
  ["registry.*:5000/team", "registry.example:5000/team/app", true],
  ["registry.example/team", "registry.example/other", false],
  ["registry.example/te", "registry.example/team", true],
  ["reg*.example", "registry.example/x", true],
  ["[::1]:5000", "[::1]:5000/x", true],
] as const)
  test(`\`matchesImage\`: ${glob} is meant for ${image}: ${matches}`, () => {
    assert.equal(matchesImage(glob, image), matches);
  });

const user = (username: string) => ({ username, password: "p" });
const namesFor = (config: Record<string, ReturnType<typeof user>>, repository: string) =>
  lookupCredentials([{ config }], repository).map(({ username }) => username);

test("`lookupCredentials` gives the most particular entry first", () => {
  const config = {
    "quay.io": user("all"),
    "https://quay.io/coreos": user("team"),
    "other.io": user("other"),
    "*.io": user("glob"),
  };
  assert.deepEqual(namesFor(config, "quay.io/coreos/etcd"), ["team", "all", "glob"]);
  assert.deepEqual(namesFor(config, "nowhere.test/x"), []);
});

test("`lookupCredentials` knows Docker Hub by the name that docker gives it", () => {
  const config = { "https://index.docker.io/v1/": user("hub") };
  assert.deepEqual(namesFor(config, "docker.io/library/nginx"), ["hub"]);
  assert.deepEqual(namesFor(config, "quay.io/x"), []);
  assert.deepEqual(namesFor({ "docker.io": user("d"), ...config }, "docker.io/library/nginx"), [
    "d",
  ]);
});

test("`parseDockerConfig` reads both forms, and `auth` goes before name and password", () => {
  const entry = { username: "a", password: "b", auth: btoa("user:pass:word"), email: "e" };
  const expected = { r: { username: "user", password: "pass:word", email: "e" } };
  assert.deepEqual(
    parseDockerConfig(JSON.stringify({ auths: { r: entry } }), "config.json"),
    expected,
  );
  assert.deepEqual(parseDockerConfig(JSON.stringify({ r: entry }), "dockercfg"), expected);
  const plain = { auths: { r: { username: "a", password: "b" }, none: {}, odd: 7 } };
  assert.deepEqual(parseDockerConfig(JSON.stringify(plain), "config.json"), {
    r: { username: "a", password: "b" },
  });
});

for (const text of ["", "{", "[]", '"secret"', "null"])
  test(`\`parseDockerConfig\` refuses ${JSON.stringify(text)} without quoting it`, () => {
    assert.throws(
      () => parseDockerConfig(text, "config.json"),
      (error: Error) => error instanceof SyntaxError && !error.message.includes("secret"),
    );
  });
