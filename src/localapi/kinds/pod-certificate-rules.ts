// pure
/**
 * Validation of requests for certificates of pods (ValidatePodCertificateRequest…). The content of certificates
 * is left to the signer: the agent checks that they are for its key.
 */

import { invalid, required, unsupported } from "../../api/decode/field-problem.ts";
import { isSame } from "../../api/decode/strategic-diff.ts";
import type { PodCertificateRequest } from "../../api/generated/types.ts";
import { parseTimestamp } from "../../api/text/timestamps.ts";
import type { Problems } from "../../api/validation/fields.ts";
import { certificateSecondsLimit, signerProblems } from "../../api/validation/volumes/projected.ts";
import type { ApiObject } from "../api-object.ts";
import type { KindRules } from "../kind.ts";

const as = (object: ApiObject) => object as unknown as PodCertificateRequest;

type Status = NonNullable<PodCertificateRequest["status"]>;

const DEFAULT_SECONDS = 86_400;
const MIN_SECONDS = 3_600;
const MARGIN_MS = 600_000;
const NAMES = [
  ...["podName", "podUID", "serviceAccountName", "serviceAccountUID", "nodeName", "nodeUID"],
  "stubPKCS10Request",
] as const;
const TYPES = ["Issued", "Denied", "Failed"];
const ONE_CONDITION =
  'There may be at most one condition with type "Issued", "Denied", or "Failed"';

/** See the head of this file. */
export const POD_CERTIFICATE_RULES: KindRules = {
  complete: (object) => {
    const { spec } = as(object);
    const seconds = spec.maxExpirationSeconds ?? DEFAULT_SECONDS;
    return { ...object, spec: { ...spec, maxExpirationSeconds: seconds } };
  },
  begin: (object) => ({ ...object, status: {} }),
  validate: (object) => {
    const { spec } = as(object);
    const { signerName, maxExpirationSeconds: seconds = 0 } = spec;
    const max = certificateSecondsLimit(signerName);
    const given = spec as unknown as Readonly<Record<string, unknown>>;
    return [
      ...signerProblems(signerName, "spec.signerName"),
      ...NAMES.filter((name) => (given[name] ?? "") === "").map((name) => required(`spec.${name}`)),
      ...(seconds >= MIN_SECONDS && seconds <= max
        ? []
        : [
            invalid(
              "spec.maxExpirationSeconds",
              seconds,
              `must be in the range [${MIN_SECONDS}, ${max}]`,
            ),
          ]),
    ];
  },
  validateChange: (now, before, subresource) => {
    const [fresh, old] = [as(now), as(before)];
    if (subresource === "status") return statusProblems(fresh, old.status ?? {});
    return isSame(fresh.spec, old.spec) ? [] : [invalid("spec", fresh.spec, "field is immutable")];
  },
};

/** A status changes once: when the request is issued, denied or failed. */
function statusProblems({ spec, status = {} }: PodCertificateRequest, old: Status): Problems {
  const conditions = status.conditions ?? [];
  const wrong = conditions.flatMap(({ type, status: state }, i): Problems => {
    const path = `status.conditions[${i}]`;
    return [
      ...(TYPES.includes(type) ? [] : [unsupported(`${path}.type`, type, TYPES)]),
      ...(state === "True" ? [] : [unsupported(`${path}.status`, state, ["True"])]),
      ...(i === 0 ? [] : [invalid(`${path}.type`, type, ONE_CONDITION)]),
    ];
  });
  if (wrong.length > 0 || isSame(status, old)) return wrong;
  const same = (message: string): Problems => [invalid("status", status, message)];
  if ((old.conditions ?? []).length > 0)
    return same("immutable after PodCertificateRequest is issued, denied, or failed");
  const [condition] = conditions;
  if (!condition)
    return same('status is immutable unless transitioning to "Issued", "Denied", or "Failed"');
  if (condition.type === "Issued") return issuedProblems(status, spec.maxExpirationSeconds ?? 0);
  return isSame(status, { conditions })
    ? []
    : same("non-condition status fields must be empty when denying or failing the request");
}

function issuedProblems(status: Status, maxSeconds: number): Problems {
  const missing = (["notBefore", "notAfter", "beginRefreshAt"] as const).filter(
    (name) => (status[name] ?? "") === "",
  );
  if (missing.length > 0) return missing.map((name) => required(`status.${name}`));
  const chain = status.certificateChain ?? "";
  if (!chain.includes("-----BEGIN CERTIFICATE-----"))
    return [
      invalid(
        "status.certificateChain",
        chain,
        "issued certificate chain must contain at least one certificate",
      ),
    ];
  const at = (text = "") => parseTimestamp(text) ?? 0;
  const [begin, refresh, end] = [
    at(status.notBefore),
    at(status.beginRefreshAt),
    at(status.notAfter),
  ];
  const lifeSeconds = (end - begin) / 1000;
  const wrongRefresh = (message: string) =>
    invalid("status.beginRefreshAt", status.beginRefreshAt, message);
  const wrongLife = (message: string) => invalid("status.certificateChain", lifeSeconds, message);
  return [
    ...(lifeSeconds < MIN_SECONDS
      ? [wrongLife("leaf certificate lifetime must be >= 1 hour")]
      : []),
    ...(lifeSeconds > maxSeconds
      ? [
          wrongLife(
            `leaf certificate lifetime must be <= spec.maxExpirationSeconds (${maxSeconds})`,
          ),
        ]
      : []),
    ...(refresh < begin + MARGIN_MS
      ? [wrongRefresh("must be at least 10 minutes after status.notBefore")]
      : []),
    ...(refresh > end - MARGIN_MS
      ? [wrongRefresh("must be at least 10 minutes before status.notAfter")]
      : []),
  ];
}
