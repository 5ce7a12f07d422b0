import { retryDelayMs } from "../../kit/backoff.ts";
import type { Reading } from "../../kit/cell.ts";
import type { WallMs } from "../../kit/clock.ts";
import { isOutside } from "../../kit/errors.ts";
import { waitForChange } from "../../kit/loops/wakeup.ts";
import type { Random } from "../../kit/random.ts";
import {
  type AlternativeNames,
  type CertificateFacts,
  type CertificateSubject,
  generateKeyPair,
  parseCertificate,
} from "../../outside/x509/x509.ts";
import { requestCertificate, type SignDeps } from "./sign.ts";
import type { CertificatePair, CertificateStore } from "./store.ts";

/** A certificate to be kept valid. */
export interface RotationOptions {
  /** For messages: `client`, `serving`. */
  readonly what: string;
  readonly signerName: string;
  readonly usages: readonly string[];
  readonly subject: CertificateSubject;
  /** Names the certificate must contain now; undefined while not known. */
  readonly names: () => AlternativeNames | undefined;
}

export interface CertificateRotationDeps extends SignDeps {
  readonly store: CertificateStore;
  /** A change of any of these may mean that other names are required. */
  readonly wakeOn: readonly Reading<unknown>[];
  readonly take: (pair: CertificatePair) => void;
  /** Called whenever a renewal has failed. */
  readonly onFailure?: () => void;
}

/** Timeout of one certificate request (certificateWaitTimeout). */
const REQUEST_TIMEOUT_MS = 15 * 60_000;
const RETRY = { initialMs: 2_000, maxMs: 60_000 };
/** The clock may be set while we wait: longer sleeps are taken in pieces. */
const LONGEST_SLEEP_MS = 10 * 60_000;

/**
 * Keeps a certificate valid until `signal` is aborted: a new one is requested after 70 to 90 %
 * of its validity, or when required names are missing from it (client-go certificate_manager.go).
 */
export async function keepCertificate(
  options: RotationOptions,
  deps: CertificateRotationDeps,
  { first, signal }: { readonly first: CertificatePair | undefined; readonly signal: AbortSignal },
): Promise<void> {
  const { clock, random, log } = deps;
  let dueAt = first ? renewalAt(parseCertificate(first.certificatePem), random) : undefined;
  let known = first;
  let failures = 0;
  while (!signal.aborted) {
    const names = options.names();
    const fits = known && names && namesAll(parseCertificate(known.certificatePem), names);
    const waitMs = fits && dueAt !== undefined ? dueAt - clock.wall() : 0;
    if (!names || waitMs > 0) {
      const ms = Math.min(names ? waitMs : LONGEST_SLEEP_MS, LONGEST_SLEEP_MS);
      await waitForChange(deps.wakeOn, { clock, ms }, signal);
      continue;
    }
    try {
      known = await renew(options, names, deps, signal);
      dueAt = renewalAt(parseCertificate(known.certificatePem), random);
      failures = 0;
      log.info(`the ${options.what} certificate was renewed`);
    } catch (error) {
      if (signal.aborted || !isOutside(error)) throw error;
      failures += 1;
      deps.onFailure?.();
      const fields = { error, failures };
      log.warn(`the ${options.what} certificate could not be renewed; will retry`, fields);
      await clock.sleep(retryDelayMs(failures, RETRY), signal).catch(() => {});
    }
  }
}

async function renew(
  { signerName, usages, subject }: RotationOptions,
  names: AlternativeNames,
  deps: CertificateRotationDeps,
  signal: AbortSignal,
): Promise<CertificatePair> {
  const key = await generateKeyPair();
  const signing = { signerName, usages, subject, names, key, timeoutMs: REQUEST_TIMEOUT_MS };
  const certificatePem = await requestCertificate(signing, deps, signal);
  const pair = { certificatePem, privateKeyPem: key.privateKeyPem };
  await deps.store.update(pair);
  deps.take(pair);
  return pair;
}

/** When to ask for the next one: after 70 to 90 % of its time. */
export function renewalAt(
  { notBefore, notAfter }: Pick<CertificateFacts, "notBefore" | "notAfter">,
  random: Random,
): WallMs {
  return (notBefore + (notAfter - notBefore) * (0.7 + 0.2 * random.next())) as WallMs;
}

function namesAll({ names }: CertificateFacts, required: AlternativeNames): boolean {
  return (
    required.dnsNames.every((name) => names.dnsNames.includes(name)) &&
    required.ipAddresses.every((address) => names.ipAddresses.includes(address))
  );
}
