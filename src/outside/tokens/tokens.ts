/**
 * Tokens of service accounts: signed claims (JSON Web Tokens with ES256). Owns nothing. In: a private key
 * and claims. Out: tokens, and the claims of those that were signed with the key.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";

/** Claims of a token. */
export type Claims = Readonly<Record<string, unknown>>;

/** Signs tokens with one key and knows its own again. */
export interface TokenSigner {
  /** Name of the key, as tokens carry it. */
  readonly keyId: string;
  /** The public key as JSON Web Key. */
  readonly publicKey: Readonly<Record<string, unknown>>;
  sign(claims: Claims): string;
  /** The claims; undefined when this key did not sign them. Times and names are not judged. */
  read(token: string): Claims | undefined;
}

/** Longer tokens are rejected. */
const MAX_TOKEN_LENGTH = 16 * 1024;
const SIGNATURE = { dsaEncoding: "ieee-p1363" } as const;

/** Signer with a P-256 key (PEM). */
export function createTokenSigner(privateKeyPem: string): TokenSigner {
  const privateKey = createPrivateKey(privateKeyPem);
  const publicKey = createPublicKey(privateKey);
  const keyId = keyIdOf(publicKey);
  const head = encode(JSON.stringify({ alg: "ES256", kid: keyId }));
  return {
    keyId,
    publicKey: { ...publicKey.export({ format: "jwk" }), use: "sig", alg: "ES256", kid: keyId },
    sign: (claims) => {
      const signed = `${head}.${encode(JSON.stringify(claims))}`;
      const signature = sign("sha256", Buffer.from(signed), { key: privateKey, ...SIGNATURE });
      return `${signed}.${signature.toString("base64url")}`;
    },
    read: (token) => readToken(token, publicKey),
  };
}

function readToken(token: string, key: KeyObject): Claims | undefined {
  const parts = token.split(".");
  const [head, body, signature] = parts;
  if (token.length > MAX_TOKEN_LENGTH || parts.length !== 3 || !head || !body || !signature) return;
  // Only ever with our own algorithm, whatever the token's header says.
  if (objectOf(head)?.["alg"] !== "ES256") return;
  const bytes = Buffer.from(signature, "base64url");
  const isOurs = verify("sha256", Buffer.from(`${head}.${body}`), { key, ...SIGNATURE }, bytes);
  return isOurs ? objectOf(body) : undefined;
}

function objectOf(part: string): Claims | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString("utf8"));
    return typeof value === "object" && value !== null ? (value as Claims) : undefined;
  } catch {
    return undefined;
  }
}

function keyIdOf(publicKey: KeyObject): string {
  const der = publicKey.export({ type: "spki", format: "der" });
  return createHash("sha256").update(der).digest("base64url");
}

function encode(text: string): string {
  return Buffer.from(text).toString("base64url");
}
