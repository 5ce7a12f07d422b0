import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeApiServer } from "../../../test/sim/fake-apiserver.ts";
import { FakeFiles } from "../../../test/sim/fake-files.ts";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import type { CertificateSigningRequest } from "../../api/generated/types.ts";
import type { WallMs } from "../../kit/clock.ts";
import { silentLog } from "../../kit/log.ts";
import { createSeededRandom } from "../../kit/random.ts";
import { StateFiles } from "../../kit/state/state-files.ts";
import { KubeClient, readKubeconfig } from "../../outside/kube/kube.ts";
import {
  generateKeyPair,
  type KeyPair,
  parseCertificate,
  parseCsr,
  signCertificate,
} from "../../outside/x509/x509.ts";
import {
  bootstrapCertificate,
  type CertificatePair,
  CertificateStore,
  clientRotation,
  keepCertificate,
  nodeKubeconfig,
  renewalAt,
  splitPair,
} from "./certificates.ts";

const FOLDER = "/var/lib/kubelet/pki";
const HOUR_MS = 3_600_000;
const CSRS = "certificates.k8s.io/certificatesigningrequests";

async function world() {
  const clock = new SimClock();
  const random = createSeededRandom(1);
  const server = new FakeApiServer(clock, random);
  const client = new KubeClient({}, { transport: server, clock, log: silentLog });
  const files = new FakeFiles({ wall: () => clock.wall(), fault: () => {} });
  const authority = await generateKeyPair();
  const store = new CertificateStore(FOLDER, "kubelet-client", { files, clock, log: silentLog });
  const deps = { client, clock, random, log: silentLog, files, store, wakeOn: [] };
  const sign = (request: CertificateSigningRequest, lifeMs = HOUR_MS) => {
    const { subject, publicKey } = parseCsr(atob(request.spec.request));
    const now = clock.wall();
    return signCertificate(
      {
        subject,
        publicKey,
        notBefore: now,
        notAfter: (now + lifeMs) as WallMs,
        use: ["clientAuth"],
      },
      { privateKeyPem: authority.privateKeyPem },
    );
  };
  const answer = (status: CertificateSigningRequest["status"], name: string) =>
    server.objects.patch({ collection: CSRS, namespace: undefined, name }, true, {
      body: { status },
      strategic: false,
    });
  /** Answers what is open, as an approver would. */
  const approve = (): number => {
    const open = server.objects
      .list(CSRS)
      .filter(({ status }) => status === undefined) as unknown as CertificateSigningRequest[];
    for (const request of open)
      answer(
        { conditions: [{ type: "Approved", status: "True" }], certificate: btoa(sign(request)) },
        request.metadata?.name ?? "",
      );
    return open.length;
  };
  return { clock, server, files, store, deps, approve, answer };
}

/** Key generation is real work, which no virtual clock waits for. */
async function letKeysBeMade(): Promise<void> {
  for (let i = 0; i < 40; i += 1) await new Promise((resolve) => setTimeout(resolve, 5));
}

async function until(clock: SimClock, test: () => boolean): Promise<void> {
  for (let i = 0; i < 200; i += 1) {
    if (test()) return;
    await clock.advance(500);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.fail("not in time");
}

test("bootstrapCertificate asks, waits, and keeps a pair that only root reads", async () => {
  const { clock, files, store, deps, approve } = await world();
  let path: string | undefined;
  const options = { nodeName: "node-1", certFolder: FOLDER };
  void bootstrapCertificate(options, deps, new AbortController().signal).then((made) => {
    path = made;
  });
  await until(clock, () => approve() > 0);
  await until(clock, () => path !== undefined);
  assert.equal(path, `${FOLDER}/kubelet-client-current.pem`);
  const pair = await store.current();
  assert.ok(pair);
  const { subject } = parseCertificate(pair.certificatePem);
  assert.deepEqual(subject, { commonName: "system:node:node-1", organizations: ["system:nodes"] });
  assert.equal((await files.facts(path, { follow: true }))?.mode, 0o600);
  assert.equal(await files.facts(`${FOLDER}/kubelet-client.key.tmp`), undefined);
});

test("bootstrapCertificate goes on with the request that was made before a restart", async () => {
  const { clock, server, deps, approve } = await world();
  const options = { nodeName: "node-1", certFolder: FOLDER };
  const first = new AbortController();
  void bootstrapCertificate(options, deps, first.signal).catch(() => {});
  await until(clock, () => server.objects.list(CSRS).length === 1);
  first.abort(new Error("restart"));
  await clock.advance(1_000);
  let made = false;
  void bootstrapCertificate(options, deps, new AbortController().signal).then(() => {
    made = true;
  });
  await clock.advance(10_000);
  await letKeysBeMade();
  assert.equal(server.objects.list(CSRS).length, 1, "the same request");
  approve();
  await until(clock, () => made);
});

test("bootstrapCertificate asks again with another key when it was denied", async () => {
  const { clock, server, deps, approve, answer } = await world();
  let made = false;
  const options = { nodeName: "node-1", certFolder: FOLDER };
  void bootstrapCertificate(options, deps, new AbortController().signal).then(() => {
    made = true;
  });
  await until(clock, () => server.objects.list(CSRS).length === 1);
  const [denied] = server.objects.list(CSRS);
  answer({ conditions: [{ type: "Denied", status: "True" }] }, denied?.metadata.name ?? "");
  await until(clock, () => server.objects.list(CSRS).length === 2);
  approve();
  await until(clock, () => made);
});

test("keepCertificate renews between 70 and 90 percent of the way, again and again", async () => {
  const { clock, store, deps, approve } = await world();
  const taken: CertificatePair[] = [];
  const take = (pair: CertificatePair) => taken.push(pair);
  const leave = new AbortController();
  const running = keepCertificate(
    clientRotation("node-1"),
    { ...deps, take },
    {
      first: undefined,
      signal: leave.signal,
    },
  );
  await until(clock, () => approve() > 0);
  await until(clock, () => taken.length === 1);
  await clock.advance(HOUR_MS * 0.6);
  await letKeysBeMade();
  assert.equal(approve(), 0, "not yet");
  await clock.advance(HOUR_MS * 0.3);
  await until(clock, () => approve() > 0);
  await until(clock, () => taken.length === 2);
  const [a, b] = taken;
  assert.notEqual(a?.privateKeyPem, b?.privateKeyPem);
  assert.equal((await store.current())?.certificatePem, b?.certificatePem);
  leave.abort(new Error("done"));
  await clock.advance(1);
  await running;
});

test("renewalAt is between 70 and 90 percent of the way", () => {
  const at = (next: number) =>
    renewalAt(
      { notBefore: 0 as WallMs, notAfter: 1000 as WallMs },
      { next: () => next, hex: () => "" },
    );
  assert.deepEqual([at(0), Math.round(at(0.999999))], [700, 900]);
});

test("CertificateStore keeps the present pair and the one before", async () => {
  const { clock, files, store } = await world();
  const pairOf = (key: KeyPair): CertificatePair => ({
    privateKeyPem: key.privateKeyPem,
    certificatePem: signCertificate(
      {
        subject: { commonName: "n", organizations: [] },
        publicKey: key.publicKey,
        notBefore: clock.wall(),
        notAfter: (clock.wall() + HOUR_MS) as WallMs,
        use: ["clientAuth"],
      },
      key,
    ),
  });
  for (let i = 0; i < 4; i += 1) {
    await store.update(pairOf(await generateKeyPair()));
    await clock.advance(2_000);
  }
  const names = ((await files.list(FOLDER)) ?? []).map(({ name }) => name);
  assert.equal(names.filter((name) => /-\d{4}-/.test(name)).length, 2);
  const last = pairOf(await generateKeyPair());
  await store.update(last);
  assert.deepEqual(await store.current(), splitPair(last.certificatePem + last.privateKeyPem));
});

test("splitPair takes only what belongs together", async () => {
  const { store, files } = await world();
  await files.makeDirectory(FOLDER, 0o755);
  await files.writeAtomic(store.currentPath, "rubbish", 0o600);
  assert.equal(await store.current(), undefined);
});

test("nodeKubeconfig names the same server and the pair", () => {
  const text = nodeKubeconfig(
    {
      server: "https://api.example:6443",
      insecure: false,
      authorities: { kind: "text", text: "CA" },
      headers: {},
    },
    `${FOLDER}/kubelet-client-current.pem`,
  );
  const read = readKubeconfig(text, "/etc/k/config");
  assert.equal(read.server, "https://api.example:6443");
  assert.deepEqual(read.certificate, {
    kind: "file",
    path: `${FOLDER}/kubelet-client-current.pem`,
  });
  assert.deepEqual(read.privateKey, read.certificate);
  assert.deepEqual(read.authorities, { kind: "text", text: "CA" });
});

for (const [what, damage] of Object.entries({
  empty: (files: FakeFiles, path: string) => files.writeAtomic(path, "", 0o600),
  "cut off": (files: FakeFiles, path: string) =>
    files.writeAtomic(path, "-----BEGIN CERTIFICATE-----\nMIIB", 0o600),
  "a folder": async (files: FakeFiles, path: string) => {
    await files.remove(path);
    await files.makeDirectory(path, 0o700);
  },
  missing: (files: FakeFiles, path: string) => files.remove(path),
}))
  test(`the newest pair is ${what}: the one before counts, and nothing is lost`, async () => {
    const { clock, files, store } = await world();
    const pairOf = async () => {
      const { publicKey, privateKeyPem } = await generateKeyPair();
      const certificatePem = signCertificate(
        {
          subject: { commonName: "n", organizations: [] },
          publicKey,
          use: ["clientAuth"],
          notBefore: clock.wall(),
          notAfter: (clock.wall() + HOUR_MS) as WallMs,
        },
        { privateKeyPem },
      );
      return { certificatePem, privateKeyPem };
    };
    const first = await pairOf();
    await store.update(first);
    await clock.advance(60_000);
    await store.update(await pairOf());
    const newest =
      files.paths
        .filter((path) => /-\d+\.pem$/.test(path))
        .toSorted()
        .at(-1) ?? "";
    await damage(files, newest);
    const state = new StateFiles({ files, clock, log: silentLog });
    await store.repair(state);
    assert.equal((await store.current())?.certificatePem, first.certificatePem);
    if (what !== "missing") assert.ok(files.paths.includes(`${newest}.broken`));
    await store.repair(state);
    assert.equal((await store.current())?.certificatePem, first.certificatePem);
  });
