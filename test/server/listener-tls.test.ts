import assert from "node:assert/strict";
import type { RequestOptions } from "node:http";
import { before, describe, test } from "node:test";
import { connect as tlsConnect } from "node:tls";
import {
  INSECURE_CIPHER_SUITES,
  PREFERRED_CIPHER_SUITES,
} from "../../src/config/validation/tls-names.ts";
import type { WallMs } from "../../src/kit/clock.ts";
import { OutsideError } from "../../src/kit/errors.ts";
import type { Exchange, TlsSettings } from "../../src/outside/net/serve/listen.ts";
import { opensslCipher, secureContextOptions } from "../../src/outside/net/serve/tls-options.ts";
import { generateKeyPair, signCertificate } from "../../src/outside/x509/x509.ts";
import { type Answer, ask, rawAnswer, type Started, start } from "./http.ts";

const GCM = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256";
const SETTINGS = { minVersion: "", cipherSuites: [], curvePreferences: [] };

describe("listenHttp with TLS", () => {
  const pem = {
    root: "",
    other: "",
    server: "",
    key: "",
    client: "",
    untrusted: "",
    clientKey: "",
    old: "",
  };
  before(async () => {
    const now = Date.now();
    const [rootKey, otherKey, key] = [
      await generateKeyPair(),
      await generateKeyPair(),
      await generateKeyPair(),
    ];
    const template = {
      publicKey: key.publicKey,
      notBefore: (now - 60_000) as WallMs,
      notAfter: (now + 600_000) as WallMs,
    };
    const authority = (own: typeof rootKey, commonName: string) =>
      signCertificate(
        {
          ...template,
          subject: { commonName, organizations: [] },
          publicKey: own.publicKey,
          use: "authority",
        },
        { privateKeyPem: own.privateKeyPem },
      );
    pem.root = authority(rootKey, "root");
    pem.other = authority(otherKey, "other");
    const issuer = { certificatePem: pem.root, privateKeyPem: rootKey.privateKeyPem };
    const subject = { commonName: "who", organizations: ["g"] };
    pem.server = signCertificate(
      {
        ...template,
        subject,
        names: { dnsNames: [], ipAddresses: ["127.0.0.1"] },
        use: ["serverAuth"],
      },
      issuer,
    );
    pem.client = signCertificate({ ...template, subject, use: ["clientAuth"] }, issuer);
    pem.old = signCertificate(
      { ...template, notAfter: (now - 1_000) as WallMs, subject, use: ["clientAuth"] },
      issuer,
    );
    pem.untrusted = signCertificate(
      { ...template, subject, use: ["clientAuth"] },
      { certificatePem: pem.other, privateKeyPem: otherKey.privateKeyPem },
    );
    pem.key = key.privateKeyPem;
    pem.clientKey = key.privateKeyPem;
  });

  const whoIs = async (exchange: Exchange) => {
    const { client } = exchange;
    await exchange.reply(
      200,
      {},
      client.kind === "unverified" ? `unverified ${client.why}` : client.kind,
    );
  };
  const tls = (more = {}) => ({
    tls: {
      material: {
        certificatePem: pem.server,
        privateKeyPem: pem.key,
        clientAuthoritiesPem: pem.root,
      },
      settings: { ...SETTINGS, ...more },
    },
  });
  const secure = (server: Started, cert?: string): Promise<Answer> =>
    ask(
      {
        port: server.port,
        host: "127.0.0.1",
        ca: pem.root,
        ...(cert ? { cert, key: pem.clientKey } : {}),
      } as RequestOptions,
      undefined,
      true,
    );

  test("distinguishes verified clients from others", async () => {
    await using server = await start(whoIs, tls());
    assert.equal((await secure(server)).body, "none");
    assert.equal((await secure(server, pem.client)).body, "verified");
    assert.match((await secure(server, pem.untrusted)).body, /^unverified/);
    assert.match((await secure(server, pem.old)).body, /^unverified CERT_HAS_EXPIRED/);
    assert.match(
      (await secure(server, pem.server)).body,
      /^unverified INVALID_PURPOSE|^unverified UNSUPPORTED/,
    );
  });

  test("believes nobody without authorities", async () => {
    const { material, settings } = tls().tls;
    await using server = await start(whoIs, {
      tls: {
        material: {
          certificatePem: material.certificatePem,
          privateKeyPem: material.privateKeyPem,
        },
        settings,
      },
    });
    assert.equal((await secure(server, pem.client)).body, "none");
  });

  test("takes new certificates and judges open connections again", async () => {
    await using server = await start(whoIs, tls());
    const socket = tlsConnect({
      port: server.port,
      host: "127.0.0.1",
      ca: pem.root,
      cert: pem.client,
      key: pem.clientKey,
    });
    const next = () =>
      new Promise<string>((resolve) => {
        socket.once("data", (chunk: Buffer) => resolve(chunk.toString()));
        socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
      });
    assert.match(await next(), /\r\n\r\nverified$/);
    server.listener.setTls({ ...tls().tls.material, clientAuthoritiesPem: pem.other + pem.root });
    assert.match(await next(), /\r\n\r\nverified$/);
    server.listener.setTls({ ...tls().tls.material, clientAuthoritiesPem: pem.other });
    assert.match(await next(), /unverified its CA is no longer trusted$/);
    socket.destroy();
    assert.match((await secure(server, pem.client)).body, /^unverified/);
    assert.equal((await secure(server, pem.untrusted)).body, "verified");
    assert.throws(
      () => server.listener.setTls({ certificatePem: "x", privateKeyPem: "y" }),
      OutsideError,
    );
    assert.equal((await secure(server, pem.untrusted)).body, "verified");
  });

  test("resumes no session, which would carry an old verdict", async () => {
    await using server = await start(whoIs, tls());
    for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
      const connectOnce = (session?: Buffer) =>
        new Promise<{ readonly reused: boolean; readonly session: Buffer | undefined }>(
          (resolve) => {
            let latest: Buffer | undefined;
            const socket = tlsConnect({
              port: server.port,
              host: "127.0.0.1",
              ca: pem.root,
              cert: pem.client,
              key: pem.clientKey,
              minVersion: version,
              maxVersion: version,
              ...(session ? { session } : {}),
            });
            let reused = true;
            socket.on("secureConnect", () => {
              reused = socket.isSessionReused();
            });
            socket.on("session", (given: Buffer) => {
              latest = given;
            });
            socket.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
            socket.resume();
            socket.on("close", () => resolve({ reused, session: latest }));
          },
        );
      const first = await connectOnce();
      const second = await connectOnce(first.session);
      assert.equal(second.reused, false, version);
    }
  });

  const handshake = (server: Started, options: object) =>
    new Promise<string>((resolve) => {
      const socket = tlsConnect(
        { port: server.port, host: "127.0.0.1", ca: pem.root, ...options },
        () => {
          resolve(`${socket.getProtocol()} ${socket.getCipher().standardName}`);
          socket.destroy();
        },
      );
      socket.on("error", () => resolve("refused"));
    });

  for (const cipherSuites of [[], ["TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", GCM]])
    test(`authenticated encryption comes first, whatever the client prefers (${cipherSuites.length} configured)`, async () => {
      await using server = await start(whoIs, tls({ cipherSuites }));
      const ciphers = "ECDHE-ECDSA-AES128-SHA:ECDHE-ECDSA-AES256-SHA:ECDHE-ECDSA-AES128-GCM-SHA256";
      assert.equal(await handshake(server, { maxVersion: "TLSv1.2", ciphers }), `TLSv1.2 ${GCM}`);
    });

  test("honours version and suites; a list without suites of TLS 1.3 keeps TLS 1.3", async () => {
    const suite = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384";
    await using server = await start(whoIs, tls({ cipherSuites: [suite] }));
    assert.match(await handshake(server, {}), /^TLSv1\.3 /);
    assert.equal(await handshake(server, { maxVersion: "TLSv1.2" }), `TLSv1.2 ${suite}`);
    assert.equal(
      await handshake(server, { maxVersion: "TLSv1.2", ciphers: "ECDHE-ECDSA-AES128-GCM-SHA256" }),
      "refused",
    );
    assert.equal(
      await handshake(server, { minVersion: "TLSv1.1", maxVersion: "TLSv1.1" }),
      "refused",
    );
    await using newest = await start(whoIs, tls({ minVersion: "VersionTLS13" }));
    assert.equal(await handshake(newest, { maxVersion: "TLSv1.2" }), "refused");
    await using oldest = await start(whoIs, tls({ minVersion: "VersionTLS10" }));
    assert.match(
      await handshake(oldest, {
        minVersion: "TLSv1",
        maxVersion: "TLSv1",
        ciphers: "DEFAULT:@SECLEVEL=0",
      }),
      /^TLSv1 /,
    );
    await using curves = await start(whoIs, tls({ curvePreferences: [24] }));
    assert.equal(await handshake(curves, { ecdhCurve: "X25519" }), "refused");
    assert.match(await handshake(curves, { ecdhCurve: "P-384" }), /^TLSv1\.3/);
    await assert.rejects(start(whoIs, tls({ curvePreferences: [9999] })), /9999/);
  });

  test("survives what is no handshake", async () => {
    await using server = await start(whoIs, tls());
    await rawAnswer(server.port, "GET / HTTP/1.1\r\n\r\n").catch(() => {});
    assert.equal((await secure(server)).status, 200);
    assert.equal(server.problems[0]?.kind, "handshake");
  });
});

test("opensslCipher spells every suite before TLS 1.3 as OpenSSL does", () => {
  const table: Readonly<Record<string, string>> = {
    TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA: "ECDHE-ECDSA-AES128-SHA",
    TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: "ECDHE-ECDSA-AES128-GCM-SHA256",
    TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA: "ECDHE-ECDSA-AES256-SHA",
    TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: "ECDHE-ECDSA-AES256-GCM-SHA384",
    TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305: "ECDHE-ECDSA-CHACHA20-POLY1305",
    TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: "ECDHE-ECDSA-CHACHA20-POLY1305",
    TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA: "ECDHE-RSA-AES128-SHA",
    TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: "ECDHE-RSA-AES128-GCM-SHA256",
    TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA: "ECDHE-RSA-AES256-SHA",
    TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: "ECDHE-RSA-AES256-GCM-SHA384",
    TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305: "ECDHE-RSA-CHACHA20-POLY1305",
    TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: "ECDHE-RSA-CHACHA20-POLY1305",
    TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256: "ECDHE-ECDSA-AES128-SHA256",
    TLS_ECDHE_ECDSA_WITH_RC4_128_SHA: "ECDHE-ECDSA-RC4-SHA",
    TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA: "ECDHE-RSA-DES-CBC3-SHA",
    TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256: "ECDHE-RSA-AES128-SHA256",
    TLS_ECDHE_RSA_WITH_RC4_128_SHA: "ECDHE-RSA-RC4-SHA",
    TLS_RSA_WITH_3DES_EDE_CBC_SHA: "DES-CBC3-SHA",
    TLS_RSA_WITH_AES_128_CBC_SHA: "AES128-SHA",
    TLS_RSA_WITH_AES_128_CBC_SHA256: "AES128-SHA256",
    TLS_RSA_WITH_AES_128_GCM_SHA256: "AES128-GCM-SHA256",
    TLS_RSA_WITH_AES_256_CBC_SHA: "AES256-SHA",
    TLS_RSA_WITH_AES_256_GCM_SHA384: "AES256-GCM-SHA384",
    TLS_RSA_WITH_RC4_128_SHA: "RC4-SHA",
  };
  const known = [...PREFERRED_CIPHER_SUITES, ...INSECURE_CIPHER_SUITES];
  for (const name of known.filter((each) => each.includes("_WITH_")))
    assert.equal(opensslCipher(name), table[name], name);
});

describe("secureContextOptions", () => {
  let material = { certificatePem: "", privateKeyPem: "" };
  before(async () => {
    const { privateKeyPem, publicKey } = await generateKeyPair();
    const now = Date.now();
    const [notBefore, notAfter] = [now as WallMs, (now + 600_000) as WallMs];
    const subject = { commonName: "node", organizations: [] };
    const request = { subject, publicKey, notBefore, notAfter, use: ["serverAuth" as const] };
    material = { certificatePem: signCertificate(request, { privateKeyPem }), privateKeyPem };
  });
  const optionsOf = (more: Partial<TlsSettings>) =>
    secureContextOptions(material, { ...SETTINGS, ...more });

  for (const [number, name] of Object.entries({
    23: "P-256",
    24: "P-384",
    25: "P-521",
    29: "X25519",
    4587: "SecP256r1MLKEM768",
    4588: "X25519MLKEM768",
    4589: "SecP384r1MLKEM1024",
  }))
    test(`key exchange mechanism ${number} is ${name}`, () => {
      assert.equal(optionsOf({ curvePreferences: [Number(number)] }).ecdhCurve, name);
    });

  for (const [minVersion, level] of Object.entries({
    VersionTLS10: ":@SECLEVEL=0",
    VersionTLS11: ":@SECLEVEL=0",
    VersionTLS12: "",
    VersionTLS13: "",
    "": "",
  }))
    test(`security level of OpenSSL with minVersion "${minVersion}"`, () => {
      const { ciphers = "" } = optionsOf({ minVersion });
      assert.equal(/:@.*$/.exec(ciphers)?.[0] ?? "", level);
    });

  test("refuses a version that it does not know", () => {
    assert.throws(
      () => optionsOf({ minVersion: "VersionTLS14" }),
      (error) =>
        error instanceof OutsideError && error.message === "unknown TLS version VersionTLS14",
    );
  });
});
