// The certificates of a control plane for tests: one authority, and what it issues.
import type { WallMs } from "../../src/kit/clock.ts";
import {
  type AlternativeNames,
  type CertificateUsage,
  generateKeyPair,
  parseCsr,
  signCertificate,
} from "../../src/outside/x509/x509.ts";

/** A certificate with its key, both PEM. */
export interface Identity {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

/** Whom a certificate is about, as Kubernetes reads it: common name is the user, organizations are groups. */
export interface User {
  readonly name: string;
  readonly groups?: readonly string[];
}

const DAY_SECONDS = 24 * 3600;
/** Clocks of a test never differ, but certificates of a second's granularity must be valid at once. */
const BACKDATED_MS = 5_000;

export class Authority {
  readonly certificatePem: string;
  /** For controllers that sign with it. */
  readonly privateKeyPem: string;

  private constructor(identity: Identity) {
    this.certificatePem = identity.certificatePem;
    this.privateKeyPem = identity.privateKeyPem;
  }

  static async create(name = "nodelet-test-ca"): Promise<Authority> {
    const key = await generateKeyPair();
    const certificatePem = signCertificate(
      {
        subject: { commonName: name, organizations: [] },
        publicKey: key.publicKey,
        use: "authority",
        ...validity(DAY_SECONDS),
      },
      { privateKeyPem: key.privateKeyPem },
    );
    return new Authority({ certificatePem, privateKeyPem: key.privateKeyPem });
  }

  client(user: User, lifetimeSeconds = DAY_SECONDS): Promise<Identity> {
    return this.#issue(user, undefined, ["clientAuth"], lifetimeSeconds);
  }

  server(name: string, names: AlternativeNames): Promise<Identity> {
    return this.#issue({ name }, names, ["serverAuth"], DAY_SECONDS);
  }

  /** Answers a signing request (PEM) with what it asks for. */
  sign(csrPem: string, usages: readonly CertificateUsage[], lifetimeSeconds: number): string {
    const { subject, names, publicKey, signatureIsValid } = parseCsr(csrPem);
    if (!signatureIsValid) throw new Error("the request is not signed by the key it is about");
    return signCertificate(
      { subject, names, publicKey, use: usages, ...validity(lifetimeSeconds) },
      { certificatePem: this.certificatePem, privateKeyPem: this.privateKeyPem },
    );
  }

  async #issue(
    { name, groups = [] }: User,
    names: AlternativeNames | undefined,
    use: readonly CertificateUsage[],
    lifetimeSeconds: number,
  ): Promise<Identity> {
    const key = await generateKeyPair();
    const certificatePem = signCertificate(
      {
        subject: { commonName: name, organizations: groups },
        publicKey: key.publicKey,
        use,
        ...(names ? { names } : {}),
        ...validity(lifetimeSeconds),
      },
      { certificatePem: this.certificatePem, privateKeyPem: this.privateKeyPem },
    );
    return { certificatePem, privateKeyPem: key.privateKeyPem };
  }
}

function validity(seconds: number): { readonly notBefore: WallMs; readonly notAfter: WallMs } {
  const now = Date.now();
  return { notBefore: (now - BACKDATED_MS) as WallMs, notAfter: (now + seconds * 1000) as WallMs };
}
