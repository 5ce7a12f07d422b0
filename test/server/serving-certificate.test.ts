import assert from "node:assert/strict";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Cell } from "../../src/kit/cell.ts";
import type { WallMs } from "../../src/kit/clock.ts";
import { createSystemClock } from "../../src/kit/clock.ts";
import { UsageError } from "../../src/kit/errors.ts";
import { silentLog } from "../../src/kit/log.ts";
import { StateFiles } from "../../src/kit/state/state-files.ts";
import { createFiles } from "../../src/outside/host/files/files.ts";
import type { TlsMaterial } from "../../src/outside/serving.ts";
import {
  generateKeyPair,
  keyBelongsTo,
  parseCertificates,
  signCertificate,
} from "../../src/outside/x509/x509.ts";
import {
  type CertificateDeps,
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
const certificate = (
  more: Partial<CertificateOptions> = {},
  wallMs = Date.now(),
  others: Partial<CertificateDeps> = {},
) =>
  new ServingCertificate(
    { folder, nodeName: "node-1", addresses: ["192.0.2.1"], clientCaFile: "", ...more },
    { ...deps, clock: { ...clock, wall: () => wallMs as WallMs }, ...others },
  );
const refusal = (why: RegExp) => (error: unknown) =>
  error instanceof UsageError && why.test(error.message);

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
    assert.equal(statSync(folder).mode & 0o777, 0o755);
    assert.deepEqual(readdirSync(folder).toSorted(), ["kubelet.crt", "kubelet.key"]);
  });

  test("leaves the mode of a folder that is there as it is", async () => {
    mkdirSync(folder, { recursive: true });
    chmodSync(folder, 0o700);
    await certificate().load();
    assert.equal(statSync(folder).mode & 0o777, 0o700);
  });

  test("is valid from an hour ago for a year, and named after the second it was made", async () => {
    const now = Date.UTC(2026, 0, 2, 3, 4, 5) + 678;
    const [leaf, authority] = parseCertificates((await certificate({}, now).load()).certificatePem);
    const second = Math.floor(now / 1000);
    assert.equal(leaf?.notBefore, second * 1000 - 3_600_000);
    assert.equal(leaf?.notAfter, second * 1000 + 365 * DAY_MS);
    assert.equal(leaf?.subject.commonName, `node-1@${second}`);
    assert.equal(authority?.subject.commonName, `node-1-ca@${second}`);
  });

  test("keeps one that is valid for 30 days to the millisecond, and no longer", async () => {
    const first = await certificate().load();
    const end = parseCertificates(first.certificatePem)[0]?.notAfter ?? 0;
    const later = (ms: number) => certificate({}, end - 30 * DAY_MS + ms).load();
    assert.deepEqual(await later(0), first);
    assert.notDeepEqual(await later(1), first);
  });

  test("sets aside nothing that is not there", async () => {
    const first = await certificate().load();
    const asked: string[] = [];
    const watched: CertificateDeps["state"] = {
      makeFolder: (...args) => state.makeFolder(...args),
      write: (...args) => state.write(...args),
      setAside: (file, why) => {
        asked.push(`${file.path.slice(folder.length)}: ${why}`);
        return state.setAside(file, why);
      },
    };
    rmSync(join(folder, "kubelet.key"));
    const second = await certificate({}, Date.now(), { state: watched }).load();
    assert.notDeepEqual(second, first);
    const why = `--cert-dir: there is no file ${join(folder, "kubelet.key")}`;
    assert.deepEqual(asked, [`/kubelet.crt: ${why}`]);
  });

  for (const [kind, target, kept] of [
    ["leads nowhere", "nowhere", []],
    ["leads to itself", "kubelet.crt", ["kubelet.crt.broken"]],
  ] as const)
    test(`replaces a link that ${kind}`, async () => {
      mkdirSync(folder, { recursive: true });
      symlinkSync(target, join(folder, "kubelet.crt"));
      const made = await certificate().load();
      assert.deepEqual(await certificate().load(), made);
      const names = readdirSync(folder).filter((name) => name.endsWith(".broken"));
      assert.deepEqual(names, kept);
    });

  test("gives the authorities of clients with the certificate", async () => {
    const path = join(base, `${count}`, "ca.crt");
    const own = await certificate().load();
    const [, authority = ""] = own.certificatePem.split(/(?<=-----END CERTIFICATE-----\n)/);
    const reading = certificate({ clientCaFile: path });
    for (const pem of [authority, authority, own.certificatePem]) {
      writeFileSync(path, pem);
      assert.deepEqual(await reading.load(), { ...own, clientAuthoritiesPem: pem });
    }
    const setting = "authentication.x509.clientCAFile";
    writeFileSync(path, "garbage");
    await assert.rejects(
      reading.load(),
      refusal(new RegExp(`^${setting}: ${path} holds no certificate$`)),
    );
    writeFileSync(path, "-----BEGIN CERTIFICATE-----\nMAMC\n-----END CERTIFICATE-----\n");
    await assert.rejects(reading.load(), refusal(new RegExp(`^${setting}: ${path}: `)));
    rmSync(path);
    mkdirSync(path);
    await assert.rejects(reading.load(), refusal(new RegExp(`^${setting}: .*not a regular file$`)));
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
    mkdirSync(paths.certFile);
    await refused(/tlsCertFile, tlsPrivateKeyFile: (?!there is no file)/);
    rmSync(paths.certFile, { recursive: true });
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

  test("follows changes of the files, and takes nothing that is broken or unchanged", async () => {
    const paths = { certFile: join(folder, "c"), keyFile: join(folder, "k") };
    const pairs = [await certificate().load()];
    for (const nodeName of ["b", "c"]) pairs.push(await certificate({ nodeName }).load());
    const write = ({ certificatePem, privateKeyPem }: TlsMaterial) => {
      writeFileSync(paths.keyFile, privateKeyPem);
      writeFileSync(paths.certFile, certificatePem);
    };
    const [first, second, third] = pairs;
    assert.ok(first && second && third);
    write(first);
    let reads = 0;
    const counting: typeof files = {
      ...files,
      readText: (...args) => {
        reads += 1;
        return files.readText(...args);
      },
    };
    /** What is read from now on was read after all that was written before. */
    const readAgain = async () => {
      for (let from = reads; reads < from + 2; ) await sleep(5);
      for (let before = -1; before !== reads; await sleep(100)) before = reads;
    };
    const given = certificate({ given: paths }, Date.now(), { files: counting });
    const taken: TlsMaterial[] = [];
    const leave = new AbortController();
    const following = given.follow(
      await given.load(),
      (material) => taken.push(material),
      leave.signal,
    );
    await readAgain();
    writeFileSync(paths.certFile, "garbage");
    await readAgain();
    write(second);
    await readAgain();
    write(second);
    await readAgain();
    write(third);
    await readAgain();
    leave.abort();
    await following;
    assert.deepEqual(taken, [second, third]);
  });

  test("serves one that was issued, and ends with a fault of whoever issues it", async () => {
    const own = await certificate().load();
    const issued = new Cell<TlsMaterial | undefined>(undefined);
    let fault: Error | undefined;
    const reading = {
      get: () => {
        if (fault) throw fault;
        return issued.get();
      },
      subscribe: (onChange: (value: TlsMaterial | undefined) => void) => issued.subscribe(onChange),
    };
    const serving = certificate({}, Date.now(), { issued: reading });
    assert.deepEqual(await serving.load(), own);
    const other = { certificatePem: "issued", privateKeyPem: "key" };
    const taken = Promise.withResolvers<TlsMaterial>();
    const following = serving.follow(own, taken.resolve, new AbortController().signal);
    issued.set(other);
    assert.deepEqual(await taken.promise, other);
    fault = new TypeError("a mistake");
    issued.set(undefined);
    await assert.rejects(following, fault);
  });
});
