/** Answers certificate signing requests: a node's own at once, others once they are approved. */
import type { CertificateSigningRequest } from "../../api/generated/types.ts";
import { rfc3339 } from "../../api/text/timestamps.ts";
import type { WallMs } from "../../kit/clock.ts";
import { isOutside } from "../../kit/errors.ts";
import {
  type CertificateUsage,
  type Issuer,
  parseCertificate,
  parseCsr,
  signCertificate,
} from "../../outside/x509/x509.ts";
import { type Stored, storedAs } from "../api-object.ts";
import { SIGNING_REQUEST_KIND } from "../kinds/catalog.ts";
import type { ObjectsCore } from "../objects/core.ts";
import { type Controller, stepsForEach } from "./controllers.ts";

const EVERY_MS = 60_000;
const DEFAULT_SECONDS = 365 * 24 * 3600;
const MIN_SECONDS = 600;
/** Clocks of those who use a certificate may be behind. */
const BACKDATED_MS = 300_000;
/** Requests that are done are forgotten after an hour (the API server's). */
const DONE_MS = 3_600_000;

const SIGNERS: Readonly<Record<string, readonly CertificateUsage[]>> = {
  "kubernetes.io/kube-apiserver-client": ["clientAuth"],
  "kubernetes.io/kube-apiserver-client-kubelet": ["clientAuth"],
  "kubernetes.io/kubelet-serving": ["serverAuth"],
};

/** See the head of this file. */
export function signingController(
  core: ObjectsCore,
  issuer: Issuer & { readonly certificatePem: string },
): Controller {
  const { store, clock } = core;
  return {
    name: "local API: certificates",
    everyMs: EVERY_MS,
    plan: () =>
      stepsForEach(core, store.list(SIGNING_REQUEST_KIND.collection), (object) => {
        const request = storedAs<CertificateSigningRequest>(object);
        if (isDone(request))
          return isOld(request, clock.wall())
            ? [() => void store.remove(SIGNING_REQUEST_KIND.collection, request)]
            : [];
        if (!Object.hasOwn(SIGNERS, request.spec.signerName)) return [];
        if (isApproved(request) || isOfNode(request)) return [() => answer(core, request, issuer)];
        return [];
      }),
  };
}

const has = ({ status }: CertificateSigningRequest, type: string): boolean =>
  status?.conditions?.some((each) => each.type === type) === true;
const isApproved = (request: CertificateSigningRequest): boolean => has(request, "Approved");
const isDone = (request: CertificateSigningRequest): boolean =>
  (request.status?.certificate ?? "") !== "" || has(request, "Denied") || has(request, "Failed");

function isOld({ metadata }: CertificateSigningRequest, now: WallMs): boolean {
  const made = Date.parse(metadata?.creationTimestamp ?? "");
  return now - made > DONE_MS;
}

/** A node may ask for itself: the subject is who asks, and nothing else is in it (approver of the API server). */
function isOfNode({ spec }: CertificateSigningRequest): boolean {
  const { username = "", groups = [], signerName } = spec;
  if (!signerName.includes("kubelet")) return false;
  try {
    const { subject, names, signatureIsValid } = parseCsr(requestPem(spec.request));
    const isNode =
      subject.commonName.startsWith("system:node:") &&
      subject.organizations.length === 1 &&
      subject.organizations[0] === "system:nodes";
    const asks =
      (username === subject.commonName && groups.includes("system:nodes")) ||
      groups.includes("system:masters");
    const named = names.dnsNames.length + names.ipAddresses.length > 0;
    const serving = signerName === "kubernetes.io/kubelet-serving";
    return signatureIsValid && isNode && asks && (serving || !named);
  } catch (error) {
    if (isOutside(error)) return false;
    throw error;
  }
}

function answer(
  core: ObjectsCore,
  request: Stored<CertificateSigningRequest>,
  issuer: Issuer & { readonly certificatePem: string },
): void {
  const now = core.clock.wall();
  const condition = (type: string, reason: string, message: string) => ({
    type,
    status: "True",
    reason,
    message,
    lastUpdateTime: rfc3339(now),
    lastTransitionTime: rfc3339(now),
  });
  const conditions = request.status?.conditions ?? [];
  const approved = isApproved(request)
    ? conditions
    : [...conditions, condition("Approved", "AutoApproved", "the node asks for itself")];
  let status: object;
  try {
    const pem = sign(request, issuer, now);
    status = { ...request.status, conditions: approved, certificate: btoa(pem) };
  } catch (error) {
    if (!isOutside(error)) throw error;
    status = {
      ...request.status,
      conditions: [...approved, condition("Failed", "SigningFailed", error.message)],
    };
  }
  core.store.put(SIGNING_REQUEST_KIND.collection, { ...request, status });
}

function sign(
  { spec }: CertificateSigningRequest,
  issuer: Issuer & { readonly certificatePem: string },
  now: WallMs,
): string {
  const { subject, names, publicKey } = parseCsr(requestPem(spec.request));
  const seconds = Math.max(spec.expirationSeconds ?? DEFAULT_SECONDS, MIN_SECONDS);
  const last = parseCertificate(issuer.certificatePem).notAfter;
  return signCertificate(
    {
      subject,
      names,
      publicKey,
      use: SIGNERS[spec.signerName] ?? [],
      notBefore: (now - BACKDATED_MS) as WallMs,
      notAfter: Math.min(now + seconds * 1000, last) as WallMs,
    },
    issuer,
  );
}

function requestPem(base64: string): string {
  try {
    return atob(base64);
  } catch {
    return "";
  }
}
