// Credential programs that receive service accounts: real processes, tokens of a real API in this process.
import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { ServiceAccount } from "../../src/api/generated/types.ts";
import { type IdentifiedPod, identifyPod } from "../../src/api/pod-identity.ts";
import { createSystemClock } from "../../src/kit/clock.ts";
import { OutsideError } from "../../src/kit/errors.ts";
import { silentLog } from "../../src/kit/log.ts";
import { MetricsRegistry } from "../../src/kit/metrics.ts";
import { createSystemRandom } from "../../src/kit/random.ts";
import { TaskScope } from "../../src/kit/scope.ts";
import { connectHost } from "../../src/outside/host/connect-host.ts";
import { KubeClient, RequestedTokens, WatchedObjects } from "../../src/outside/kube/kube.ts";
import { CredentialPrograms } from "../../src/subsystems/images/credentials/credential-programs.ts";
import { podAccountsFrom } from "../../src/subsystems/images/credentials/pod-account.ts";
import { accessIn, type LocalApiUnderTest, startLocal } from "../localapi/local-api.ts";
import { ImageWorld, podOf as imagePod, present } from "./world.ts";

const VERSION = "credentialprovider.kubelet.k8s.io/v1";
const DEFAULT = "/api/v1/namespaces/default";
const AUDIENCE = "registry.example";
const folder = mkdtempSync(join(tmpdir(), "nodelet-accounts-"));
const asked = join(folder, "asked");
const clock = createSystemClock();
const scope = new TaskScope("test", { clock, log: silentLog });
const { signal } = new AbortController();
let api: LocalApiUnderTest;

before(async () => {
  api = await startLocal();
  for (const name of ["builder", "runner"])
    await api.must("POST", `${DEFAULT}/serviceaccounts`, {
      metadata: { name, annotations: { "example.test/role": name, "example.test/other": "x" } },
    });
});
after(async () => {
  await scope[Symbol.asyncDispose]();
  await api[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

interface Asked {
  readonly image: string;
  readonly serviceAccountToken?: string;
  readonly serviceAccountAnnotations?: Readonly<Record<string, string>>;
}

const requests = (): readonly Asked[] =>
  readFileSync(asked, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Asked);

/** A program that notes what it is asked, and gives credentials for everything. */
async function load(tokenAttributes: object): Promise<CredentialPrograms> {
  const auth = { "registry.example": { username: "user", password: "secret" } };
  const kind = "CredentialProviderResponse";
  const answer = JSON.stringify({ kind, apiVersion: VERSION, cacheKeyType: "Registry", auth });
  const program = join(folder, "program");
  writeFileSync(program, `#!/bin/sh\ncat >>${asked}; echo >>${asked}; echo '${answer}'\n`);
  chmodSync(program, 0o755);
  writeFileSync(asked, "");
  const provider = {
    name: "program",
    matchImages: ["registry.example"],
    defaultCacheDuration: "1h",
    apiVersion: VERSION,
    tokenAttributes,
  };
  const configPath = join(folder, "config.json");
  const apiVersion = "kubelet.config.k8s.io/v1";
  const config = { kind: "CredentialProviderConfig", apiVersion, providers: [provider] };
  writeFileSync(configPath, JSON.stringify(config));
  const transport = api.connect(accessIn(api.nodeKubeconfig));
  const deps = { clock, random: createSystemRandom(), log: silentLog };
  const client = new KubeClient({}, { transport, clock, log: silentLog });
  const objects = new WatchedObjects({ client, scope, ...deps });
  const metrics = new MetricsRegistry();
  return await CredentialPrograms.load(
    { configPath, binFolder: folder },
    {
      host: connectHost({ clock, log: silentLog }),
      clock,
      log: silentLog,
      signal,
      accounts: podAccountsFrom(objects, new RequestedTokens({ client, ...deps })),
      duration: metrics.histogram({ name: "d", help: "d" }),
      errors: metrics.counter({ name: "e", help: "e" }),
    },
  );
}

/** A pod that the API has: tokens are bound to it. */
async function podOf(name: string, account: string): Promise<IdentifiedPod> {
  return await api.must<IdentifiedPod>("POST", `${DEFAULT}/pods`, {
    metadata: { name },
    spec: {
      nodeName: "n1",
      serviceAccountName: account,
      containers: [{ name: "c", image: "registry.example/app" }],
    },
  });
}

const attributes = (more: object = {}) => ({
  serviceAccountTokenAudience: AUDIENCE,
  cacheType: "ServiceAccount",
  requireServiceAccount: true,
  ...more,
});

test("a program gets a token of the pod's account, and the annotations it asks for", async () => {
  const programs = await load(
    attributes({
      requiredServiceAccountAnnotationKeys: ["example.test/role"],
      optionalServiceAccountAnnotationKeys: ["example.test/none"],
    }),
  );
  const pod = await podOf("with-account", "builder");
  const [part] = await programs.credentialsFor("registry.example/app", pod, signal);
  const account = await api.must<ServiceAccount>("GET", `${DEFAULT}/serviceaccounts/builder`);
  assert.deepEqual(part?.config, { "registry.example": { username: "user", password: "secret" } });
  assert.deepEqual(part?.account, {
    uid: account.metadata?.uid,
    namespace: "default",
    name: "builder",
  });
  const [request] = requests();
  assert.deepEqual(request?.serviceAccountAnnotations, { "example.test/role": "builder" });
  const claims = JSON.parse(
    Buffer.from(request?.serviceAccountToken?.split(".")[1] ?? "", "base64url").toString(),
  );
  assert.deepEqual(claims.aud, [AUDIENCE]);
  assert.equal(claims.sub, "system:serviceaccount:default:builder");
  assert.equal(claims["kubernetes.io"].pod.uid, pod.metadata?.uid);
});

test("answers are alike for an account, or for one token only", async () => {
  const [one, two, other] = [
    await podOf("one", "builder"),
    await podOf("two", "builder"),
    await podOf("other", "runner"),
  ];
  const askAll = async (programs: CredentialPrograms) => {
    for (const pod of [one, two, one, two, other])
      assert.equal((await programs.credentialsFor("registry.example/app", pod, signal)).length, 1);
    return requests().length;
  };
  assert.equal(await askAll(await load(attributes())), 2);
  assert.equal(await askAll(await load(attributes({ cacheType: "Token" }))), 3);
});

test("a pod without an account or a required annotation gets no request", async () => {
  const alone = identifyPod({ metadata: { name: "static" }, spec: { containers: [] } });
  const strict = await load(
    attributes({ requiredServiceAccountAnnotationKeys: ["example.test/absent"] }),
  );
  const pod = await podOf("without-annotation", "builder");
  for (const each of [alone, pod])
    assert.deepEqual(await strict.credentialsFor("registry.example/app", each, signal), []);
  assert.deepEqual(requests(), []);
  const lenient = await load(attributes({ requireServiceAccount: false }));
  const [part] = await lenient.credentialsFor("registry.example/app", alone, signal);
  assert.equal(part?.account, undefined);
  assert.equal(requests()[0]?.serviceAccountToken, undefined);
  const gone = { ...pod, spec: { containers: [], serviceAccountName: "nobody" } };
  assert.deepEqual(await lenient.credentialsFor("registry.example/app", gone, signal), []);
});

test("an image that was pulled for an account is for the pods of that account", async () => {
  const image = "nodelet.test/app:1";
  const provider = {
    name: "program",
    matchImages: ["nodelet.test"],
    defaultCacheDuration: "0s",
    apiVersion: VERSION,
    tokenAttributes: attributes(),
  };
  const apiVersion = "kubelet.config.k8s.io/v1";
  const config = { kind: "CredentialProviderConfig", apiVersion, providers: [provider] };
  const runProgram = async ({ input }: { readonly input?: string }) => {
    const { serviceAccountToken: password } = JSON.parse(input ?? "") as Record<string, string>;
    const auth = { "nodelet.test": { username: "user", password } };
    const kind = "CredentialProviderResponse";
    const answer = { kind, apiVersion: VERSION, cacheKeyType: "Image", auth };
    return { code: 0, by: "", stdout: JSON.stringify(answer), stderr: "" };
  };
  const world = new ImageWorld({
    config: { imagePullCredentialsVerificationPolicy: "NeverVerifyPreloadedImages" },
    credentialPrograms: { configPath: "/etc/providers.json", binFolder: "/bin" },
    runProgram,
    accounts: {
      account: async ({ spec }) => {
        const name = spec?.serviceAccountName ?? "";
        return { uid: `uid-${name}`, namespace: "default", name, annotations: {} };
      },
      token: async (_, { name }) => `token of ${name}`,
    },
  });
  const { files } = world.host;
  for (const folder of ["/etc", "/bin"]) await files.makeDirectory(folder, 0o755);
  await files.writeAtomic("/etc/providers.json", JSON.stringify(config), 0o600);
  await files.writeAtomic("/bin/program", "", 0o755);
  await world.open();
  let pulls = 0;
  world.runtime.store.onPull = ({ auth }) => {
    pulls += 1;
    if (!auth || !("password" in auth) || auth.password !== "token of builder")
      throw new OutsideError("denied", "401 Unauthorized");
  };
  const ensure = (uid: string, serviceAccountName: string) =>
    world.ensure(image, { pod: imagePod(image, { serviceAccountName }, uid) });
  present(await ensure("one", "builder"));
  present(await ensure("two", "builder"));
  assert.equal(pulls, 1, "what an account has pulled its other pods may use");
  assert.equal((await ensure("three", "runner")).kind, "refused");
});
