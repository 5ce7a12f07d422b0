// pure

import {
  type FieldProblem,
  forbidden,
  invalid,
  required,
  unsupported,
} from "../../decode/field-problem.ts";
import type {
  ClusterTrustBundleProjection,
  KeyToPath,
  PodCertificateProjection,
  ProjectedVolumeSource,
  ServiceAccountTokenProjection,
  VolumeProjection,
} from "../../generated/types.ts";
import { dns1123SubdomainFaults, qualifiedNameFaults } from "../../text/names.ts";
import {
  child,
  eachOf,
  entry,
  FINE,
  faultsAt,
  fileMode,
  ifSet,
  type Problems,
  sortedEntries,
  unreservedPath,
} from "../fields.ts";
import { labelSelectorProblems } from "../scheduling.ts";
import { downwardFileProblems, keyToPathProblems } from "./volume-files.ts";

const MIN_TOKEN_SECONDS = 600;
const MAX_TOKEN_SECONDS = 2 ** 32;
const MIN_CERTIFICATE_SECONDS = 3600;
const MAX_CERTIFICATE_SECONDS = 91 * 24 * 3600;
const MAX_KUBERNETES_CERTIFICATE_SECONDS = 24 * 3600;
const KEY_TYPES = ["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"] as const;
const CERTIFICATE_PATHS = ["credentialBundlePath", "keyPath", "certificateChainPath"] as const;

/** The files all sources of the volume write, to find those written twice. */
class Files {
  readonly #volumePath: string;
  readonly #seen = new Set<string>();

  constructor(volumePath: string) {
    this.#volumePath = volumePath;
  }

  /** Problems of one more file; `shown` is what the message names. */
  add(file: string, shown: string): Problems {
    if (file === "") return FINE;
    const again = this.#seen.has(file);
    this.#seen.add(file);
    return again ? [invalid(this.#volumePath, shown, "conflicting duplicate paths")] : FINE;
  }
}

/** Validates the name of a signer. */
export function signerProblems(signer: string, path: string): Problems {
  if (signer === "") return [required(path)];
  const [domain = "", name = "", ...more] = signer.split("/");
  if (domain === "" || name === "" || more.length > 0 || !domain.includes("."))
    return [
      invalid(
        path,
        signer,
        'must be a fully qualified domain and path of the form "example.com/signer-name"',
      ),
    ];
  return faultsAt(path, signer, dns1123SubdomainFaults(domain));
}

function keysProblems(
  { name = "", items }: { readonly name?: string; readonly items?: readonly KeyToPath[] },
  path: string,
  files: Files,
): Problems {
  return [
    ...(name === "" ? [required(child(path, "name"))] : []),
    ...keyToPathProblems(items, child(path, "items")),
    ...(items ?? []).flatMap((item) => files.add(item.path, name)),
  ];
}

function tokenProblems(token: ServiceAccountTokenProjection, path: string): Problems {
  const { expirationSeconds: seconds = 0, path: target } = token;
  const wrong = (message: string) => [invalid(child(path, "expirationSeconds"), seconds, message)];
  return [
    ...(seconds < MIN_TOKEN_SECONDS
      ? wrong("may not specify a duration less than 10 minutes")
      : []),
    ...(seconds > MAX_TOKEN_SECONDS
      ? wrong("may not specify a duration larger than 2^32 seconds")
      : []),
    ...(target === ""
      ? [required(child(path, "path"))]
      : unreservedPath(child(path, "path"), target)),
  ];
}

function trustBundleProblems(
  bundle: ClusterTrustBundleProjection,
  path: string,
  files: Files,
): Problems {
  const { name, signerName, labelSelector } = bundle;
  const choice = (): Problems => {
    if (name !== undefined && signerName !== undefined)
      return [invalid(path, bundle, "only one of name and signerName may be used")];
    if (name === undefined && signerName === undefined)
      return [required(path, "either name or signerName must be specified")];
    if (signerName !== undefined)
      return [
        ...(signerName === ""
          ? [required(child(path, "signerName"), "must be a valid signer name")]
          : signerProblems(signerName, child(path, "signerName"))),
        ...ifSet(labelSelector, (selector) =>
          labelSelectorProblems(selector, child(path, "labelSelector")),
        ),
      ];
    const plain = (name ?? "").split(":").at(-1) ?? "";
    return [
      ...(name === "" ? [required(child(path, "name"), "must be a valid object name")] : []),
      ...dns1123SubdomainFaults(plain).map((fault) =>
        invalid(child(path, "name"), name, `not a valid clustertrustbundlename: ${fault}`),
      ),
      ...(labelSelector === undefined
        ? []
        : [
            invalid(
              child(path, "labelSelector"),
              labelSelector,
              "labelSelector must be unset if name is specified",
            ),
          ]),
    ];
  };
  return [
    ...choice(),
    ...(bundle.path === "" ? [required(child(path, "path"))] : []),
    ...unreservedPath(child(path, "path"), bundle.path),
    ...files.add(bundle.path, bundle.path),
  ];
}

/** Seconds that certificates of a signer may be good at most. */
export function certificateSecondsLimit(signerName: string): number {
  const domain = signerName.split("/")[0] ?? "";
  return domain === "kubernetes.io" || domain.endsWith(".kubernetes.io")
    ? MAX_KUBERNETES_CERTIFICATE_SECONDS
    : MAX_CERTIFICATE_SECONDS;
}

function certificateLifetimeProblems(
  { maxExpirationSeconds: seconds, signerName }: PodCertificateProjection,
  path: string,
): Problems {
  if (seconds === undefined) return FINE;
  const max = certificateSecondsLimit(signerName);
  const wrong = (relation: string) => [
    invalid(path, seconds, `if provided, maxExpirationSeconds must be ${relation}`),
  ];
  if (seconds < MIN_CERTIFICATE_SECONDS) return wrong(`>= ${MIN_CERTIFICATE_SECONDS}`);
  return seconds > max ? wrong(`<= ${max}`) : FINE;
}

function certificateProblems(
  certificate: PodCertificateProjection,
  path: string,
  files: Files,
): Problems {
  const { signerName, keyType, userAnnotations } = certificate;
  const written = CERTIFICATE_PATHS.filter((name) => (certificate[name] ?? "") !== "");
  return [
    ...signerProblems(signerName, child(path, "signerName")),
    ...sortedEntries(userAnnotations).flatMap(([key]) =>
      faultsAt(child(path, "userAnnotations"), key, qualifiedNameFaults(key)),
    ),
    ...((KEY_TYPES as readonly string[]).includes(keyType)
      ? []
      : [unsupported(child(path, "keyType"), keyType, KEY_TYPES)]),
    ...certificateLifetimeProblems(certificate, child(path, "maxExpirationSeconds")),
    ...written.flatMap((name) => {
      const file = certificate[name] ?? "";
      return [...unreservedPath(child(path, name), file), ...files.add(file, file)];
    }),
    ...(written.length === 0
      ? [
          required(
            path,
            "specify at least one of credentialBundlePath, keyPath, and certificateChainPath",
          ),
        ]
      : []),
  ];
}

function sourceProblems(source: VolumeProjection, path: string, files: Files): Problems {
  const count = Object.values(source).filter((part) => part !== undefined).length;
  return [
    ...ifSet(source.secret, (part) => keysProblems(part, child(path, "secret"), files)),
    ...ifSet(source.configMap, (part) => keysProblems(part, child(path, "configMap"), files)),
    ...eachOf(source.downwardAPI?.items, child(path, "downwardAPI.items"), (file, at) => [
      ...downwardFileProblems(file, at),
      ...files.add(file.path, file.path),
    ]),
    ...ifSet(source.serviceAccountToken, (token) =>
      tokenProblems(token, child(path, "serviceAccountToken")),
    ),
    ...ifSet(source.clusterTrustBundle, (bundle) =>
      trustBundleProblems(bundle, child(path, "clusterTrustBundle"), files),
    ),
    ...ifSet(source.podCertificate, (certificate) =>
      certificateProblems(certificate, child(path, "podCertificate"), files),
    ),
    ...(count > 1 ? [forbidden(path, "may not specify more than 1 volume type per source")] : []),
  ];
}

/** A volume that brings several sources together. */
export function projectedProblems(source: ProjectedVolumeSource, path: string): Problems {
  const files = new Files(path);
  return [
    ...fileMode(child(path, "defaultMode"), source.defaultMode),
    ...eachOf(source.sources, child(path, "sources"), (part, at) =>
      sourceProblems(part, at, files),
    ),
  ];
}

/** Tokens are of a service account, which the pod must then have. */
export const tokenWithoutAccountProblems = (
  volumes: readonly { readonly projected?: ProjectedVolumeSource }[] | undefined,
): readonly FieldProblem[] =>
  (volumes ?? []).flatMap(({ projected }, i) =>
    eachOf(
      projected?.sources,
      child(child(entry("spec.volumes", i), "projected"), "sources"),
      ({ serviceAccountToken }, at) =>
        serviceAccountToken === undefined
          ? FINE
          : [
              forbidden(
                child(at, "serviceAccountToken"),
                "must not be specified when serviceAccountName is not set",
              ),
            ],
    ),
  );
