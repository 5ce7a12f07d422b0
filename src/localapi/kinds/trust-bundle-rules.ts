// pure
/** Validation of trust bundles of the cluster (ValidateClusterTrustBundle, KEP-3257). */

import { invalid, required, tooLong } from "../../api/decode/field-problem.ts";
import type { ClusterTrustBundle } from "../../api/generated/types.ts";
import { byteLength, dns1123SubdomainFaults } from "../../api/text/names.ts";
import { FINE, faultsAt, type Problems } from "../../api/validation/fields.ts";
import { signerProblems } from "../../api/validation/volumes/projected.ts";
import { base64ToBytes } from "../../kit/base64.ts";
import type { ApiObject } from "../api-object.ts";
import type { KindRules } from "../kind.ts";

const as = (object: ApiObject) => object as unknown as ClusterTrustBundle;

/** MaxTrustBundleSize. */
const MAX_BUNDLE_BYTES = 1024 * 1024;
const OMITTED = "<value omitted>";
const NAME = "metadata.name";
const BUNDLE = "spec.trustBundle";
const BLOCK = /-----BEGIN ([^-]*)-----\r?\n([\s\S]*?)-----END \1-----/g;

/** See the head of this file. */
export const TRUST_BUNDLE_RULES: KindRules = {
  hasOwnNames: true,
  validate: (object) => {
    const { signerName = "", trustBundle } = as(object).spec;
    return [
      ...nameProblems(object.metadata.name, signerName),
      ...(signerName === "" ? FINE : signerProblems(signerName, "spec.signerName")),
      ...bundleProblems(trustBundle),
    ];
  },
  validateChange: (now, before) => {
    const [fresh, old] = [as(now).spec.signerName ?? "", as(before).spec.signerName ?? ""];
    return fresh === old ? FINE : [invalid("spec.signerName", fresh, "field is immutable")];
  },
};

/** A bundle of a signer is named after it, `example.com:signer:name`; any other one like most objects. */
function nameProblems(name: string, signerName: string): Problems {
  if (signerName === "") {
    const message = 'ClusterTrustBundle without signer name must not have ":" in its name';
    if (name.includes(":")) return [invalid(NAME, name, message)];
    return faultsAt(NAME, name, dns1123SubdomainFaults(name));
  }
  const prefix = `${signerName.replaceAll("/", ":")}:`;
  if (!name.startsWith(prefix)) {
    const message = `ClusterTrustBundle for signerName ${signerName} must be named with prefix ${prefix}`;
    return [invalid(NAME, name, message)];
  }
  return faultsAt(NAME, name, dns1123SubdomainFaults(name.slice(prefix.length)));
}

/** Certificates, nothing else; that they are certificates by content is left to who reads them. */
function bundleProblems(text: string): Problems {
  if (text === "") return [required(BUNDLE)];
  if (byteLength(text) > MAX_BUNDLE_BYTES) return [tooLong(BUNDLE, MAX_BUNDLE_BYTES)];
  const blocks = [...text.matchAll(BLOCK)];
  if (blocks.length === 0)
    return [invalid(BUNDLE, OMITTED, "at least one trust anchor must be provided")];
  return blocks.flatMap(([, type = "", body = ""], i) => {
    const wrong = (message: string) => [invalid(BUNDLE, OMITTED, `entry ${i} ${message}`)];
    if (type !== "CERTIFICATE") return wrong(`has bad block type: ${type}`);
    if (body.includes(":")) return wrong("has PEM block headers");
    return isCertificateBody(body) ? FINE : wrong("does not parse as X.509");
  });
}

/** Whether the text is base64 of an ASN.1 sequence, which a certificate is. */
function isCertificateBody(body: string): boolean {
  try {
    return base64ToBytes(body)[0] === 0x30;
  } catch {
    return false;
  }
}
