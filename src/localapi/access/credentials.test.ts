import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeFiles } from "../../../test/sim/fake-files.ts";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { silentLog } from "../../kit/log.ts";
import { StateFiles } from "../../kit/state/state-files.ts";
import { keyBelongsTo, parseCertificate } from "../../outside/x509/x509.ts";
import { type ApiCredentials, loadCredentials } from "./credentials.ts";

const DAY_MS = 86_400_000;
const FOLDER = "/api/pki";

function world() {
  const clock = new SimClock({ wallMs: Date.UTC(2026, 0, 1) });
  const files = new FakeFiles({ wall: () => clock.wall(), fault: () => undefined });
  const state = new StateFiles({ files, clock, log: silentLog });
  const load = (nodeName = "n1") => loadCredentials({ folder: FOLDER, nodeName }, { state, clock });
  const damage = (name: string, text: string) =>
    files.writeAtomic(`${FOLDER}/${name}`, text, 0o600);
  return { clock, files, load, damage };
}

const LEAVES = ["serving", "admin", "node"] as const;

/** Which of the parts are others than before. */
function changed(before: ApiCredentials, after: ApiCredentials): readonly string[] {
  const parts = ["authority", ...LEAVES, "tokenKeyPem"] as const;
  return parts.filter((part) => JSON.stringify(before[part]) !== JSON.stringify(after[part]));
}

test("loadCredentials makes what is missing, each for its purpose, and keeps it for the owner only", async () => {
  const { clock, files, load } = world();
  const made = await load();
  const subjects = LEAVES.map((leaf) => {
    const { subject, usages, names } = parseCertificate(made[leaf].certificatePem);
    return [subject.commonName, subject.organizations, usages, names.dnsNames];
  });
  const names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];
  assert.deepEqual(subjects, [
    ["kube-apiserver", [], ["serverAuth"], names],
    ["kubernetes-admin", ["system:masters"], ["clientAuth"], []],
    ["system:node:n1", ["system:nodes"], ["clientAuth"], []],
  ]);
  for (const leaf of LEAVES) {
    const { certificatePem, privateKeyPem } = made[leaf];
    assert.ok(keyBelongsTo(privateKeyPem, certificatePem));
    const { notBefore, notAfter } = parseCertificate(certificatePem);
    assert.equal(notBefore, clock.wall() - 3_600_000);
    assert.equal(notAfter, clock.wall() + 3650 * DAY_MS);
  }
  const authority = parseCertificate(made.authority.certificatePem);
  assert.equal(authority.notAfter, clock.wall() + 7300 * DAY_MS);
  assert.equal(authority.subject.commonName, `nodelet-ca@${clock.wall() / 1000}`);
  assert.equal((await files.facts(FOLDER))?.mode, 0o700);
  for (const { name } of (await files.list(FOLDER)) ?? [])
    assert.equal((await files.facts(`${FOLDER}/${name}`))?.mode, 0o600, name);
  assert.deepEqual(changed(made, await load()), []);
});

test("a leaf is made again when it is about to end, and no other part", async () => {
  const { clock, load } = world();
  const made = await load();
  await clock.advance((3650 - 60) * DAY_MS - 1);
  assert.deepEqual(changed(made, await load()), []);
  await clock.advance(1);
  const renewed = await load();
  assert.deepEqual(changed(made, renewed), ["serving", "admin", "node"]);
  assert.deepEqual(changed(renewed, await load()), []);
});

test("the node's certificate is made again for another name", async () => {
  const { load } = world();
  assert.deepEqual(changed(await load(), await load("n2")), ["node"]);
});

test("what is damaged or does not fit is set aside and made again", async () => {
  const { files, load, damage } = world();
  let before = await load();
  const expect = async (what: string, parts: readonly string[], ...aside: readonly string[]) => {
    const after = await load();
    assert.deepEqual(changed(before, after), parts, what);
    for (const name of aside)
      assert.ok(await files.facts(`${FOLDER}/${name}.broken`), `${what}: ${name}`);
    assert.deepEqual(changed(after, await load()), [], what);
    before = after;
  };
  await damage("admin.crt", "no certificate");
  await expect("a damaged certificate", ["admin"], "admin.crt");
  await damage("node.key", "no key");
  await expect("a damaged key", ["node"], "node.key");
  await damage("apiserver.key", before.node.privateKeyPem);
  await expect("another's key", ["serving"], "apiserver.key");
  await damage("service-accounts.key", "no key");
  await expect("the key of tokens", ["tokenKeyPem"], "service-accounts.key");
  await files.remove(`${FOLDER}/admin.key`);
  await expect("a missing key", ["admin"]);
  await files.remove(`${FOLDER}/admin.crt`);
  await expect("a missing certificate", ["admin"]);
  await damage("ca.crt", "no certificate");
  await expect("the authority", ["authority", "serving", "admin", "node"], "ca.crt");
});
