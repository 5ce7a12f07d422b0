import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach, describe, test } from "node:test";
import type { WallMs } from "../../src/kit/clock.ts";
import { createSystemClock } from "../../src/kit/clock.ts";
import { UsageError } from "../../src/kit/errors.ts";
import { silentLog } from "../../src/kit/log.ts";
import { StateFiles } from "../../src/kit/state/state-files.ts";
import { createFiles } from "../../src/outside/host/files/files.ts";
import {
  generateKeyPair,
  keyBelongsTo,
  parseCertificates,
  signCertificate,
} from "../../src/outside/x509/x509.ts";
import {
  type CertificateOptions,
  ServingCertificate,
} from "../../src/server/access/serving-certificate.ts";

const DAY_MS = 86_400_000;
const base = mkdtempSync(join(tmpdir(), "nodelet-certificate-"));
after(() => rmSync(base, { recursive: true }));

let folder: string;
let count = 0;
beforeEach(() => {
  count += 1;
  folder = join(base, `${count}`, "pki");
});

const clock = createSystemClock();
const files = createFiles({ clock, log: silentLog });
const state = new StateFiles({ files, clock, log: silentLog });
const deps = { files, state, clock, log: silentLog };
const certificate = (more: Partial<CertificateOptions> = {}, wallMs = Date.now()) =>
  new ServingCertificate(
    { folder, nodeName: "node-1", addresses: ["192.0.2.1"], clientCaFile: "", ...more },
    { ...deps, clock: { ...clock, wall: () => wallMs as WallMs } },
  );

describe("ServingCertificate", () => {
  test("makes a certificate once, for its names, and keeps it private", async () => {
    const made = await certificate().load();
    assert.deepEqual(await certificate().load(), made);
    const [leaf, authority] = parseCertificates(made.certificatePem);
    assert.deepEqual(leaf?.names, {
      dnsNames: ["node-1", "localhost"],
      ipAddresses: ["192.0.2.1", "127.0.0.1", "::1"],
    });
    assert.deepEqual(leaf?.usages, ["serverAuth"]);
    assert.equal(authority?.isAuthority, true);
    assert.equal(keyBelongsTo(made.privateKeyPem, made.certificatePem), true);
    for (const name of ["kubelet.crt", "kubelet.key"])
      assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600, name);
  });

  for (const [damage, apply] of Object.entries({
    empty: (path: string) => writeFileSync(path, ""),
    garbage: (path: string) => writeFileSync(path, "garbage"),
    folder: (path: string) => {
      rmSync(path);
      mkdirSync(path);
    },
  }))
    test(`sets aside a file that is damaged (${damage}) and serves another`, async () => {
      const first = await certificate().load();
      for (const name of ["kubelet.crt", "kubelet.key"]) apply(join(folder, name));
      const second = await certificate().load();
      assert.notEqual(second.certificatePem, first.certificatePem);
      assert.deepEqual(await certificate().load(), second);
      const names = readdirSync(folder).toSorted();
      assert.deepEqual(names, [
        "kubelet.crt",
        "kubelet.crt.broken",
        "kubelet.key",
        "kubelet.key.broken",
      ]);
    });

  test("makes another one when the old one cannot serve", async () => {
    const first = await certificate().load();
    const again = async (what: string, options: Partial<CertificateOptions>, days = 0) => {
      const other = await certificate(options, Date.now() + days * DAY_MS).load();
      assert.notEqual(other.certificatePem, first.certificatePem, what);
      await deps.files.writeAtomic(join(folder, "kubelet.crt"), first.certificatePem, 0o600);
      await deps.files.writeAtomic(join(folder, "kubelet.key"), first.privateKeyPem, 0o600);
    };
    assert.equal(
      (await certificate({}, Date.now() + 300 * DAY_MS).load()).certificatePem,
      first.certificatePem,
    );
    await again("about to end", {}, 340);
    await again("another name", { nodeName: "node-2" });
    await again("another address", { addresses: ["192.0.2.1", "2001:db8::1"] });
    writeFileSync(join(folder, "kubelet.key"), (await generateKeyPair()).privateKeyPem);
    await again("another key", {});
    rmSync(join(folder, "kubelet.key"));
    await again("no key", {});
    writeFileSync(join(folder, "kubelet.crt"), "garbage");
    await again("garbage", {});
  });

  test("serves all the same where nothing can be kept", async () => {
    mkdirSync(join(folder, ".."), { recursive: true });
    writeFileSync(folder, "a file in the way of the folder");
    const made = await certificate().load();
    assert.equal(keyBelongsTo(made.privateKeyPem, made.certificatePem), true);
  });

  test("says what is wrong with files that were given", async () => {
    const key = await generateKeyPair();
    const other = await generateKeyPair();
    const pem = signCertificate(
      {
        subject: { commonName: "x", organizations: [] },
        publicKey: key.publicKey,
        notBefore: (Date.now() - DAY_MS) as WallMs,
        notAfter: (Date.now() + DAY_MS) as WallMs,
        use: ["serverAuth"],
      },
      { privateKeyPem: key.privateKeyPem },
    );
    mkdirSync(folder, { recursive: true });
    const paths = { certFile: join(folder, "c"), keyFile: join(folder, "k") };
    const load = () => certificate({ given: paths }).load();
    const refused = async (why: RegExp) =>
      assert.rejects(load(), (error) => error instanceof UsageError && why.test(error.message));
    await refused(/tlsCertFile, tlsPrivateKeyFile: there is no file/);
    writeFileSync(paths.certFile, pem);
    writeFileSync(paths.keyFile, other.privateKeyPem);
    await refused(/is not the key of/);
    writeFileSync(paths.keyFile, "garbage");
    await refused(/private key/);
    writeFileSync(paths.keyFile, key.privateKeyPem);
    assert.equal((await load()).certificatePem, pem);
    writeFileSync(paths.certFile, "garbage");
    await refused(/no PEM block/);
    const ca = certificate({ given: paths, clientCaFile: join(folder, "ca") }).load();
    await assert.rejects(ca, UsageError);
  });

  test("follows changes of the files, and takes nothing that is broken", async () => {
    const [first, second] = [
      await certificate().load(),
      await certificate({ nodeName: "b" }).load(),
    ];
    const paths = { certFile: join(folder, "c"), keyFile: join(folder, "k") };
    const write = ({ certificatePem, privateKeyPem }: typeof first) => {
      writeFileSync(paths.keyFile, privateKeyPem);
      writeFileSync(paths.certFile, certificatePem);
    };
    write(first);
    const given = certificate({ given: paths });
    const leave = new AbortController();
    const { promise, resolve } = Promise.withResolvers<string>();
    const following = given.follow(
      await given.load(),
      ({ certificatePem }) => resolve(certificatePem),
      leave.signal,
    );
    writeFileSync(paths.certFile, "garbage");
    write(second);
    assert.equal(await promise, second.certificatePem);
    leave.abort();
    await following;
  });
});
