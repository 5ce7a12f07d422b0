import { generateKeyPair, type KeyObject } from "node:crypto";
import { promisify } from "node:util";

/** A private key with its public half. */
export interface KeyPair {
  /** SEC 1 or PKCS #8, PEM. */
  readonly privateKeyPem: string;
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Uint8Array;
}

const generate = promisify(generateKeyPair);

/** How keys are made, by the API's words for them (KEP-4317). */
const MAKERS = {
  RSA3072: () => generate("rsa", { modulusLength: 3072 }),
  RSA4096: () => generate("rsa", { modulusLength: 4096 }),
  ECDSAP256: () => generate("ec", { namedCurve: "P-256" }),
  ECDSAP384: () => generate("ec", { namedCurve: "P-384" }),
  ECDSAP521: () => generate("ec", { namedCurve: "P-521" }),
  ED25519: () => generate("ed25519", {}),
} as const satisfies Readonly<
  Record<string, () => Promise<{ readonly privateKey: KeyObject; readonly publicKey: KeyObject }>>
>;

/** A kind of key, in the API's words. */
export type KeyType = keyof typeof MAKERS;

/** Whether a text is a kind of key that can be made. */
export const isKeyType = (text: string): text is KeyType => Object.hasOwn(MAKERS, text);

/** A new key of a kind, as PKCS #8. Large RSA keys take seconds of a thread beside the main one. */
export async function generateKeyOfType(type: KeyType): Promise<KeyPair> {
  const { privateKey, publicKey } = await MAKERS[type]();
  return {
    privateKeyPem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    publicKey: publicKey.export({ type: "spki", format: "der" }),
  };
}
