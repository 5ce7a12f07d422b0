import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { test } from "node:test";
import { type Claims, createTokenSigner } from "./tokens.ts";

const key = () => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
const own = key();
const pemOf = (of: typeof own) => of.export({ format: "pem", type: "pkcs8" }).toString();
const signer = createTokenSigner(pemOf(own));
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** A token as our key signs it, whatever stands in its parts. */
function signed(head: string, body: string, by = own): string {
  const signature = sign("sha256", Buffer.from(`${head}.${body}`), {
    key: by,
    dsaEncoding: "ieee-p1363",
  });
  return `${head}.${body}.${signature.toString("base64url")}`;
}

const CLAIMS: Claims = { sub: "robot", exp: 1 };
const HEAD = encode({ alg: "ES256", kid: signer.keyId });

test("a signer reads what it signed, and says by which key", () => {
  const token = signer.sign(CLAIMS);
  assert.deepEqual(signer.read(token), CLAIMS);
  assert.equal(token.split(".")[0], HEAD);
  const { kty, crv, use, alg, kid, d } = signer.publicKey;
  assert.deepEqual(
    { kty, crv, use, alg, kid, d },
    { kty: "EC", crv: "P-256", use: "sig", alg: "ES256", kid: signer.keyId, d: undefined },
  );
});

const [head = "", body = "", signature = ""] = signer.sign(CLAIMS).split(".");
const other = createTokenSigner(pemOf(key()));
/** Claims whose token has this many characters more than those of `CLAIMS`, or a little more. */
const long = (characters: number) => ({ ...CLAIMS, pad: "x".repeat(characters) });
const LIMIT = 16 * 1024;

const REFUSED: Readonly<Record<string, string>> = {
  "of another key": other.sign(CLAIMS),
  "whose claims were changed": `${head}.${encode({ ...CLAIMS, sub: "admin" })}.${signature}`,
  "whose signature is of another token": `${head}.${body}.${signer.sign({}).split(".")[2]}`,
  "whose signature is no signature": `${head}.${body}.AAAA`,
  "without a signature": `${head}.${body}.`,
  "of two parts": `${head}.${body}`,
  "of four parts": `${head}.${body}.${signature}.x`,
  "without claims": `${head}..${signature}`,
  "without a head": `.${body}.${signature}`,
  "with no algorithm": signed(encode({ alg: "none" }), body),
  "with another algorithm": signed(encode({ alg: "HS256" }), body),
  "with a head that is no object": signed(encode("ES256"), body),
  "with a head that is null": signed(encode(null), body),
  "with a head that is not JSON": signed("AAAA", body),
  "with claims that are a text": signed(HEAD, encode("text")),
  "with claims that are null": signed(HEAD, encode(null)),
  "with claims that are not JSON": signed(HEAD, "AAAA"),
  "that is too long": signed(HEAD, encode(long(LIMIT))),
  "that is no token": "x",
  "that is empty": "",
};

for (const [what, token] of Object.entries(REFUSED))
  test(`a token ${what} is refused`, () => {
    assert.equal(signer.read(token), undefined);
  });

test("a token may be as long as the limit, and no longer", () => {
  const rest = signer.sign(long(0)).length;
  // Three bytes are four characters.
  let claims = long(Math.floor(((LIMIT - rest) * 3) / 4));
  while (signer.sign(claims).length > LIMIT) claims = long(claims.pad.length - 1);
  while (signer.sign(long(claims.pad.length + 1)).length <= LIMIT)
    claims = long(claims.pad.length + 1);
  assert.deepEqual(signer.read(signer.sign(claims)), claims);
  const longer = long(claims.pad.length + 1);
  assert.ok(signer.sign(longer).length <= LIMIT + 2);
  assert.equal(signer.read(signer.sign(longer)), undefined);
});
