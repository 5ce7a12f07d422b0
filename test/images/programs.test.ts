// Programs that give credentials, as real processes.
import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { identifyPod } from "../../src/api/pod-identity.ts";
import { messageOf, UsageError } from "../../src/kit/errors.ts";
import { silentLog } from "../../src/kit/log.ts";
import { MetricsRegistry } from "../../src/kit/metrics.ts";
import { connectHost } from "../../src/outside/host/connect-host.ts";
import { CredentialPrograms } from "../../src/subsystems/images/credentials/credential-programs.ts";
import { podAccountsFrom } from "../../src/subsystems/images/credentials/pod-account.ts";
import { SimClock } from "../sim/sim-clock.ts";

const folder = mkdtempSync(join(tmpdir(), "nodelet-programs-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const VERSION = "credentialprovider.kubelet.k8s.io/v1";
const asked = join(folder, "asked");

/** A program that notes what it was asked and answers with the given text. */
function program(name: string, body: string): void {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\ncat >>${asked}; echo " $PROFILE $1" >>${asked}\n${body}\n`);
  chmodSync(path, 0o755);
}

const answer = (cacheKeyType: string, cacheDuration?: string) =>
  JSON.stringify({
    kind: "CredentialProviderResponse",
    apiVersion: VERSION,
    cacheKeyType,
    ...(cacheDuration === undefined ? {} : { cacheDuration }),
    auth: { "registry.example": { username: "user", password: "secret" } },
  });

async function load(names: readonly string[], warnings: string[] = []) {
  const configPath = join(folder, "config.yaml");
  const providers = names.map((name) => ({
    name,
    matchImages: ["registry.example", "other.example"],
    defaultCacheDuration: "1m",
    apiVersion: VERSION,
    args: ["get"],
    env: [{ name: "PROFILE", value: "mine" }],
  }));
  const config = {
    kind: "CredentialProviderConfig",
    apiVersion: "kubelet.config.k8s.io/v1",
    providers,
  };
  writeFileSync(configPath, JSON.stringify(config));
  writeFileSync(asked, "");
  const clock = new SimClock();
  const metrics = new MetricsRegistry();
  const programs = await CredentialPrograms.load(
    { configPath, binFolder: folder },
    {
      host: connectHost({ clock, log: silentLog }),
      clock,
      accounts: podAccountsFrom(undefined, undefined),
      log: {
        ...silentLog,
        error: (text, fields) =>
          warnings.push(`${text} ${messageOf(fields?.["error"])} ${JSON.stringify(fields)}`),
      },
      duration: metrics.histogram({ name: "d", help: "d" }),
      errors: metrics.counter({ name: "e", help: "e" }),
      signal: new AbortController().signal,
    },
  );
  const times = () => readFileSync(asked, "utf8").split("\n").length - 1;
  return { programs, clock, times, metrics };
}

const POD = identifyPod({ spec: { containers: [] } });
const ask = (programs: CredentialPrograms, repository: string) =>
  programs.credentialsFor(repository, POD, new AbortController().signal);

test("a program is asked in its protocol, once for all callers that need the same image", async () => {
  program("plain", `echo '${answer("Image", "0s")}'`);
  const { programs, times } = await load(["plain"]);
  const [part] = await ask(programs, "registry.example/app");
  assert.deepEqual(part?.config, { "registry.example": { username: "user", password: "secret" } });
  assert.deepEqual(
    readFileSync(asked, "utf8"),
    `{"kind":"CredentialProviderRequest","apiVersion":"${VERSION}","image":"registry.example/app"} mine get\n`,
  );
  await Promise.all([1, 2, 3].map(() => ask(programs, "registry.example/app")));
  assert.equal(times(), 2, "nothing is cached for 0s, and three at once are one");
  assert.deepEqual(await ask(programs, "nowhere.example/app"), []);
});

for (const [key, others] of [
  ["Image", 3],
  ["Registry", 2],
  ["Global", 1],
] as const)
  test(`answers are cached by ${key}, for as long as they say`, async () => {
    program("caches", `echo '${answer(key)}'`);
    const { programs, times, clock } = await load(["caches"]);
    for (const image of ["registry.example/a", "registry.example/b", "other.example/a"]) {
      await ask(programs, image);
      await ask(programs, image);
    }
    assert.equal(times(), others);
    await clock.advance(60_001);
    await ask(programs, "registry.example/a");
    assert.equal(times(), others + 1, "the default of the configuration is one minute");
  });

test("a program that fails costs its credentials only, and its answer is never logged", async () => {
  program("fails", "echo secret; echo 'no token' >&2; exit 3");
  program("lies", `echo '{"auth":"secret"}'`);
  program("works", `echo '${answer("Image", "0s")}'`);
  const warnings: string[] = [];
  const { programs, metrics } = await load(["fails", "lies", "works"], warnings);
  const found = await ask(programs, "registry.example/app");
  assert.equal(found.filter(({ config }) => Object.keys(config).length > 0).length, 1);
  assert.equal(warnings.length, 2);
  assert.match(warnings.join(), /exit status 3: no token/);
  assert.ok(!warnings.join().includes("secret"));
  assert.match(metrics.expose(), /e\{plugin_name="fails"\} 1/);
});

test("a program that is not there keeps the agent from starting", async () => {
  await assert.rejects(load(["missing"]), UsageError);
  const notProgram = join(folder, "text");
  writeFileSync(notProgram, "");
  await assert.rejects(load(["text"]), /plugin binary executable .*\/text did not exist/);
});
