import { constants } from "node:crypto";
import { createSecureContext, type SecureContextOptions, type SecureVersion } from "node:tls";
import {
  KEY_EXCHANGES,
  PREFERRED_CIPHER_SUITES,
  preferredOrder,
} from "../../../config/validation/tls-names.ts";
import { messageOf, OutsideError } from "../../../kit/errors.ts";
import type { TlsMaterial, TlsSettings } from "./listen.ts";

const VERSIONS: Readonly<Record<string, SecureVersion>> = {
  VersionTLS10: "TLSv1",
  VersionTLS11: "TLSv1.1",
  VersionTLS12: "TLSv1.2",
  VersionTLS13: "TLSv1.3",
};

const TLS13_SUITES = PREFERRED_CIPHER_SUITES.filter((name) => !name.includes("_WITH_"));

/**
 * Options of a TLS server. Suites of TLS 1.3 are always offered, as Go does: with a list without them,
 * OpenSSL would disable TLS 1.3.
 */
export function secureContextOptions(
  material: TlsMaterial,
  settings: TlsSettings,
): SecureContextOptions {
  const minVersion = VERSIONS[settings.minVersion || "VersionTLS12"];
  if (!minVersion) throw new OutsideError("invalid", `unknown TLS version ${settings.minVersion}`);
  const suites = settings.cipherSuites.length > 0 ? settings.cipherSuites : PREFERRED_CIPHER_SUITES;
  const old = preferredOrder(suites.filter((name) => name.includes("_WITH_"))).map(opensslCipher);
  // OpenSSL refuses the old versions at its default security level, whatever else is asked of it.
  const level = minVersion < "TLSv1.2" ? ["@SECLEVEL=0"] : [];
  const options: SecureContextOptions = {
    cert: material.certificatePem,
    key: material.privateKeyPem,
    // Without a list of our own, Node would believe every public authority.
    ca: material.clientAuthoritiesPem ?? [],
    minVersion,
    ciphers: [...TLS13_SUITES, ...old, ...level].join(":"),
    honorCipherOrder: true,
    // A resumed session would carry a verdict on the client's certificate from another time.
    secureOptions: constants.SSL_OP_NO_TICKET,
    ...(settings.curvePreferences.length > 0 ? { ecdhCurve: groups(settings) } : {}),
  };
  try {
    createSecureContext(options);
  } catch (error) {
    throw new OutsideError("invalid", `TLS: ${messageOf(error)}`, { cause: error });
  }
  return options;
}

function groups({ curvePreferences }: TlsSettings): string {
  return curvePreferences
    .map((number) => {
      const name = KEY_EXCHANGES[number];
      if (name === undefined)
        throw new OutsideError("invalid", `unknown key exchange mechanism ${number}`);
      return name;
    })
    .join(":");
}

/** Ciphers of the suites before TLS 1.3 by Go's names, as OpenSSL names them. */
const CIPHERS: Readonly<Record<string, string>> = {
  "3DES_EDE_CBC_SHA": "DES-CBC3-SHA",
  RC4_128_SHA: "RC4-SHA",
  AES_128_CBC_SHA: "AES128-SHA",
  AES_256_CBC_SHA: "AES256-SHA",
  AES_128_CBC_SHA256: "AES128-SHA256",
  AES_128_GCM_SHA256: "AES128-GCM-SHA256",
  AES_256_GCM_SHA384: "AES256-GCM-SHA384",
  CHACHA20_POLY1305: "CHACHA20-POLY1305",
  CHACHA20_POLY1305_SHA256: "CHACHA20-POLY1305",
};

/** `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256` as OpenSSL spells it: `ECDHE-RSA-AES128-GCM-SHA256`. */
export function opensslCipher(name: string): string {
  const [, exchange = "", cipher = ""] = /TLS_(.+)_WITH_(.+)/.exec(name) ?? [];
  const prefix = exchange === "RSA" ? "" : `${exchange.replaceAll("_", "-")}-`;
  return `${prefix}${CIPHERS[cipher] ?? cipher}`;
}
