// Certificates, requests for them, and tokens.
import { OutsideError } from "../../../src/kit/errors.ts";
import { createTokenSigner } from "../../../src/outside/tokens/tokens.ts";
import {
  parseCertificateDer,
  parseCertificates,
  parseCsrDer,
} from "../../../src/outside/x509/x509.ts";
import { splitPair } from "../../../src/subsystems/certificates/store.ts";
import { same } from "../check.ts";
import { bytesTarget, textTarget } from "../target.ts";
import { AUTHORITY_PEM, KEY_PEM, REQUEST_PEM, SERVING_PEM, TOKEN } from "./certificate-seeds.ts";

const derOf = (pem: string): Uint8Array =>
  Buffer.from(pem.replaceAll(/-----[A-Z ]+-----|\s/g, ""), "base64");

const SIGNER = createTokenSigner(KEY_PEM);
const CLAIMS = SIGNER.read(TOKEN);

/** Every decoder of certificates and tokens. */
export const CERTIFICATE_TARGETS = [
  bytesTarget({
    name: "certificate",
    layout: "der",
    files: ["outside/x509/"],
    seeds: [derOf(AUTHORITY_PEM), derOf(SERVING_PEM)],
    refuses: [OutsideError],
    run: (bytes) => void parseCertificateDer(bytes),
  }),
  bytesTarget({
    name: "certificate-request",
    layout: "der",
    files: ["outside/x509/"],
    share: 0.1,
    seeds: [derOf(REQUEST_PEM)],
    refuses: [OutsideError],
    run: (bytes) => void parseCsrDer(bytes),
  }),
  textTarget({
    name: "pem",
    files: ["outside/x509/pem.ts", "certificates/store.ts"],
    share: 0.3,
    words: [
      "-----BEGIN CERTIFICATE-----\n",
      "-----END CERTIFICATE-----\n",
      "-----BEGIN EC PRIVATE KEY-----",
      "=",
      "\r\n",
    ],
    seeds: [SERVING_PEM + KEY_PEM, AUTHORITY_PEM + SERVING_PEM],
    refuses: [OutsideError],
    run: (text) => {
      splitPair(text);
      parseCertificates(text);
    },
  }),
  textTarget({
    name: "token",
    files: ["outside/tokens/tokens.ts"],
    share: 0.1,
    words: [".", "..", "=", "eyJhbGciOiJub25lIn0", "eyJhbGciOiJIUzI1NiJ9", "e30", "bnVsbA"],
    seeds: [TOKEN],
    run: (text) => {
      const claims = SIGNER.read(text);
      // Whatever is taken for ours says what we signed.
      if (claims) same(claims, CLAIMS);
    },
  }),
];
