// pure
/** Service account data passed to credential programs (`tokenAttributes`, KEP-4412). */

import { shownFieldValue } from "../../../api/decode/field-problem.ts";
import type { JsonValue } from "../../../api/generated/types.ts";
import { qualifiedNameFaults } from "../../../api/text/names.ts";
import { asFields, type Fields } from "../fields.ts";

/** How a program identifies pods by their service accounts. */
export interface TokenAttributes {
  readonly audience: string;
  /** Scope in which responses are cached: per service account, or per token. */
  readonly cacheType: "ServiceAccount" | "Token";
  /** Pods without an account are not asked for. */
  readonly requireAccount: boolean;
  /** Accounts without these are not asked for. */
  readonly requiredAnnotations: readonly string[];
  readonly optionalAnnotations: readonly string[];
}

/** The one version of the protocol that knows tokens. */
const TOKEN_PROTOCOL = "credentialprovider.kubelet.k8s.io/v1";

type Fault = (path: string, why: string) => void;

/** Reads `tokenAttributes` of a provider; `undefined` when there are none (validateServiceAccountTokenAttributes). */
export function readTokenAttributes(
  value: JsonValue | undefined,
  apiVersion: string,
  fault: Fault,
): TokenAttributes | undefined {
  const fields = asFields(value);
  if (!fields) return undefined;
  const report: Fault = (path, why) =>
    fault(path === "" ? "tokenAttributes" : `tokenAttributes.${path}`, why);
  if (apiVersion !== TOKEN_PROTOCOL)
    report("", `Forbidden: tokenAttributes is only supported for ${TOKEN_PROTOCOL} API version`);
  const audience = fields["serviceAccountTokenAudience"];
  if (typeof audience !== "string" || audience === "")
    report("serviceAccountTokenAudience", "Required value");
  const { requireServiceAccount } = fields;
  if (typeof requireServiceAccount !== "boolean") report("requireServiceAccount", "Required value");
  const required = keysOf(fields, "requiredServiceAccountAnnotationKeys", report);
  const optional = keysOf(fields, "optionalServiceAccountAnnotationKeys", report);
  if (requireServiceAccount === false && required.length > 0)
    report(
      "requiredServiceAccountAnnotationKeys",
      "Forbidden: requireServiceAccount cannot be false when requiredServiceAccountAnnotationKeys is set",
    );
  const both = required.filter((key) => optional.includes(key));
  if (both.length > 0)
    report(
      "",
      `Invalid value: annotation keys [${both.join(" ")}] cannot be both required and optional`,
    );
  return {
    audience: typeof audience === "string" ? audience : "",
    cacheType: cacheTypeOf(fields, report),
    requireAccount: requireServiceAccount === true,
    requiredAnnotations: required,
    optionalAnnotations: optional,
  };
}

function cacheTypeOf({ cacheType }: Fields, report: Fault): TokenAttributes["cacheType"] {
  if (cacheType === "ServiceAccount" || cacheType === "Token") return cacheType;
  const missing = cacheType === undefined || cacheType === "";
  report(
    "cacheType",
    missing
      ? "Required value: cacheType is required to be set when tokenAttributes is specified"
      : `Unsupported value: ${shownFieldValue(cacheType)}: supported values: "ServiceAccount", "Token"`,
  );
  return "Token";
}

function keysOf(fields: Fields, name: string, report: Fault): readonly string[] {
  const value = fields[name];
  const keys = (Array.isArray(value) ? value : []).filter((key) => typeof key === "string");
  keys.forEach((key, at) => {
    for (const why of qualifiedNameFaults(key.toLowerCase()))
      report(`${name}[${at}]`, `Invalid value: ${JSON.stringify(key)}: ${why}`);
    if (keys.indexOf(key) !== at)
      report(`${name}[${at}]`, `Duplicate value: ${JSON.stringify(key)}`);
  });
  return keys;
}

/** The annotations that a program gets; `undefined` when a required one is missing. */
export function annotationsFor(
  { requiredAnnotations, optionalAnnotations }: TokenAttributes,
  annotations: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> | undefined {
  const has = (key: string) => Object.hasOwn(annotations, key);
  if (!requiredAnnotations.every(has)) return undefined;
  const keys = [...requiredAnnotations, ...optionalAnnotations].filter(has).sort();
  return Object.fromEntries(keys.map((key) => [key, annotations[key] ?? ""]));
}
