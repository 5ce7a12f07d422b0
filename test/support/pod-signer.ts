// Signs requests for certificates of pods, as a signer of the cluster does: real X.509.
import type { PodCertificateRequest } from "../../src/api/generated/types.ts";
import { rfc3339 } from "../../src/api/text/timestamps.ts";
import type { WallMs } from "../../src/kit/clock.ts";
import { generateKeyPair, parseCsrDer, signCertificate } from "../../src/outside/x509/x509.ts";

export interface Lifetimes {
  readonly now: WallMs;
  /** From now; negative: in the past. */
  readonly refreshInMs: number;
  readonly lifeMs: number;
}

/** How long a certificate is good before it is issued: clocks differ. */
const BACKDATED_MS = 3_600_000;

export class PodSigner {
  readonly authorityPem: string;
  readonly #key: string;

  private constructor(authorityPem: string, key: string) {
    this.authorityPem = authorityPem;
    this.#key = key;
  }

  static async create(now: WallMs): Promise<PodSigner> {
    const { privateKeyPem, publicKey } = await generateKeyPair();
    const authority = signCertificate(
      {
        publicKey,
        use: "authority",
        subject: { commonName: "signer", organizations: [] },
        notBefore: (now - BACKDATED_MS) as WallMs,
        notAfter: (now + 365 * 86_400_000) as WallMs,
      },
      { privateKeyPem },
    );
    return new PodSigner(authority, privateKeyPem);
  }

  /** The status of a request that is granted; the chain ends with the authority. */
  issue({ spec }: PodCertificateRequest, lifetimes: Lifetimes): PodCertificateRequest["status"] {
    const { now, refreshInMs, lifeMs } = lifetimes;
    const { publicKey } = parseCsrDer(Buffer.from(spec.stubPKCS10Request, "base64"));
    const notBefore = (now - BACKDATED_MS) as WallMs;
    const notAfter = (now + lifeMs) as WallMs;
    const leaf = signCertificate(
      {
        publicKey,
        notBefore,
        notAfter,
        use: ["clientAuth"],
        subject: { commonName: spec.podName, organizations: [] },
      },
      { certificatePem: this.authorityPem, privateKeyPem: this.#key },
    );
    return {
      conditions: [condition("Issued", "Signed", "", now)],
      certificateChain: leaf + this.authorityPem,
      notBefore: rfc3339(notBefore),
      beginRefreshAt: rfc3339((now + refreshInMs) as WallMs),
      notAfter: rfc3339(notAfter),
    };
  }
}

/** A condition that ends a request. */
export function condition(
  type: "Issued" | "Denied" | "Failed",
  reason: string,
  message: string,
  now: WallMs,
) {
  return { type, status: "True", reason, message, lastTransitionTime: rfc3339(now) };
}
