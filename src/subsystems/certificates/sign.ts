import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
} from "../../api/generated/types.ts";
import type { Clock } from "../../kit/clock.ts";
import { OutsideError } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { Random } from "../../kit/random.ts";
import { within } from "../../kit/within.ts";
import {
  followObjects,
  isApiError,
  type KubeClient,
  SIGNING_REQUESTS,
} from "../../outside/kube/kube.ts";
import {
  type AlternativeNames,
  type CertificateSubject,
  createCsr,
  type KeyPair,
  keyBelongsTo,
} from "../../outside/x509/x509.ts";

/** A CertificateSigningRequest to create. */
interface SigningRequest {
  readonly signerName: string;
  readonly usages: readonly string[];
  readonly subject: CertificateSubject;
  readonly names: AlternativeNames;
  readonly key: KeyPair;
  /** The same for the same key, where a request may be taken up again after a restart. */
  readonly name?: string;
  /** After that the request is given up. */
  readonly timeoutMs: number;
}

export interface SignDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/**
 * Asks the API for a certificate and waits until it is approved and signed; returns it as PEM.
 * Throws `OutsideError`: `denied` when it was refused, `deadline` when there was no answer in time.
 */
export async function requestCertificate(
  signing: SigningRequest,
  deps: SignDeps,
  signal: AbortSignal,
): Promise<string> {
  const message = "the request was not signed in time";
  const limit = { clock: deps.clock, ms: signing.timeoutMs, message };
  const certificate = await within(limit, signal, async (waits) =>
    untilSigned(await createRequest(signing, deps, waits), deps, waits),
  );
  if (!keyBelongsTo(signing.key.privateKeyPem, certificate))
    throw new OutsideError("invalid", "the issued certificate is for a different key");
  return certificate;
}

async function createRequest(
  signing: SigningRequest,
  { client, log }: SignDeps,
  signal: AbortSignal,
): Promise<CertificateSigningRequest> {
  const { signerName, usages, name, subject, names, key } = signing;
  const request: CertificateSigningRequest = {
    metadata: name === undefined ? { generateName: "csr-" } : { name },
    spec: { request: btoa(createCsr(subject, names, key)), signerName, usages },
  };
  try {
    const made = await client.create(SIGNING_REQUESTS, {}, request, signal);
    log.info("created a certificate signing request", {
      request: made.metadata?.name,
      signer: signerName,
    });
    return made;
  } catch (error) {
    if (name === undefined || !isApiError(error, 409)) throw error;
    // Asked before a restart, with this very key: the name is made of it.
    return await client.get(SIGNING_REQUESTS, { name }, signal);
  }
}

async function untilSigned(
  request: CertificateSigningRequest,
  deps: SignDeps,
  signal: AbortSignal,
): Promise<string> {
  const { name = "", uid } = request.metadata ?? {};
  const done = certificateOf(request);
  if (done !== undefined) return done;
  const options = { resource: SIGNING_REQUESTS, fieldSelector: `metadata.name=${name}` };
  for await (const change of followObjects(options, deps, signal)) {
    const now = change.kind === "all" ? change.objects[0] : change.object;
    if (change.kind === "gone" || !now)
      throw new OutsideError("notFound", `the request ${name} was deleted`);
    if (uid !== undefined && now.metadata?.uid !== uid)
      throw new OutsideError("precondition", `the request ${name} was replaced by another one`);
    const certificate = certificateOf(now);
    if (certificate !== undefined) return certificate;
  }
  throw new OutsideError("aborted", "no longer waited for");
}

/** The certificate once it is issued; throws when it never will be. */
function certificateOf({ metadata, status }: CertificateSigningRequest): string | undefined {
  const conditions = status?.conditions ?? [];
  const refusal = conditions.find(({ type }) => type === "Denied" || type === "Failed");
  if (refusal) throw new OutsideError("denied", refusalText(metadata?.name ?? "", refusal));
  const approved = conditions.some(({ type }) => type === "Approved");
  const certificate = status?.certificate ?? "";
  return approved && certificate !== "" ? atob(certificate) : undefined;
}

function refusalText(name: string, { type, reason, message }: CertificateSigningRequestCondition) {
  const why = [reason, message].filter(Boolean).join(": ");
  return `the request ${name} was answered ${type}${why === "" ? "" : ` (${why})`}`;
}
