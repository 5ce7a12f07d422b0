// What a controller manager does with certificate signing requests of kubelets: approve and sign.
import { setTimeout as sleep } from "node:timers/promises";
import type { CertificateSigningRequest } from "../../src/api/generated/types.ts";
import type { CertificateUsage } from "../../src/outside/x509/x509.ts";
import type { AdminReply, AdminRequest } from "./admin.ts";
import type { Authority } from "./pki.ts";

const PATH = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

/** What each signer's certificates may be used for. */
const SIGNERS: Readonly<Record<string, readonly CertificateUsage[]>> = {
  "kubernetes.io/kube-apiserver-client-kubelet": ["clientAuth"],
  "kubernetes.io/kube-apiserver-client": ["clientAuth"],
  "kubernetes.io/kubelet-serving": ["serverAuth"],
};

export interface SignerOptions {
  /** How long certificates are valid; default a day. */
  readonly lifetimeSeconds?: number;
  /** Which requests are approved; the others stay as they are. Default all. */
  readonly approve?: (request: CertificateSigningRequest) => boolean;
}

export interface SignerDeps {
  readonly authority: Authority;
  readonly request: (request: AdminRequest) => Promise<AdminReply>;
}

/** Polls for requests and answers them until it is stopped. */
export class Signer implements AsyncDisposable {
  /** Requests that were signed, oldest first. */
  readonly signed: CertificateSigningRequest[] = [];
  readonly #options: SignerOptions;
  readonly #deps: SignerDeps;
  readonly #leave = new AbortController();
  readonly #running: Promise<void>;

  constructor(options: SignerOptions, deps: SignerDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#running = this.#run();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#leave.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#leave.signal.aborted) {
      try {
        const { body } = await this.#deps.request({ method: "GET", path: PATH });
        const items = (body as { items?: readonly CertificateSigningRequest[] }).items ?? [];
        for (const item of items) if (this.#isOpen(item)) await this.#answer(item);
      } catch {
        // The server is away for a while in some tests.
      }
      await sleep(100, undefined, { signal: this.#leave.signal }).catch(() => {});
    }
  }

  #isOpen({ status, spec }: CertificateSigningRequest): boolean {
    const decided = status?.conditions?.some(({ type }) => type === "Denied" || type === "Failed");
    return status?.certificate === undefined && !decided && spec.signerName in SIGNERS;
  }

  async #answer(found: CertificateSigningRequest): Promise<void> {
    if (this.#options.approve && !this.#options.approve(found)) return;
    const name = found.metadata?.name ?? "";
    const approved = await this.#put(`${PATH}/${name}/approval`, {
      ...found,
      status: {
        ...found.status,
        conditions: [{ type: "Approved", status: "True", reason: "Test", message: "by the test" }],
      },
    });
    const pem = this.#deps.authority.sign(
      Buffer.from(`${found.spec.request}`, "base64").toString("utf8"),
      SIGNERS[found.spec.signerName] ?? [],
      this.#options.lifetimeSeconds ?? 24 * 3600,
    );
    const done = await this.#put(`${PATH}/${name}/status`, {
      ...approved,
      status: { ...approved.status, certificate: Buffer.from(pem).toString("base64") },
    });
    this.signed.push(done);
  }

  async #put(path: string, body: CertificateSigningRequest): Promise<CertificateSigningRequest> {
    const reply = await this.#deps.request({ method: "PUT", path, body });
    if (reply.status !== 200) throw new Error(`PUT ${path}: ${JSON.stringify(reply.body)}`);
    return reply.body as CertificateSigningRequest;
  }
}
