import type { Clock, WallMs } from "../../kit/clock.ts";
import { isOutside } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { DecodedState, StateFiles } from "../../kit/state/state-files.ts";
import type { Files } from "../../outside/host/host.ts";
import { keyBelongsTo, parseCertificate } from "../../outside/x509/x509.ts";

/** A certificate with its key, both PEM; intermediates follow the certificate. */
export interface CertificatePair {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

export interface CertificateStoreDeps {
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
}

const MAX_BYTES = 1024 * 1024;
const PRIVATE_MODE = 0o600;
const FOLDER_MODE = 0o755;

/**
 * Certificates as the Go kubelet keeps them: `<name>-<time>.pem` with certificate and key in one file, and
 * the link `<name>-current.pem` to the one that counts (client-go certificate_store.go). Only root reads
 * them.
 */
export class CertificateStore {
  readonly #folder: string;
  readonly #name: string;
  readonly #deps: CertificateStoreDeps;

  constructor(folder: string, name: string, deps: CertificateStoreDeps) {
    this.#folder = folder;
    this.#name = name;
    this.#deps = deps;
  }

  /** The link that always names the present pair. */
  get currentPath(): string {
    return `${this.#folder}/${this.#name}-current.pem`;
  }

  /** The current pair; undefined when there is no readable and matching one. */
  async current(): Promise<CertificatePair | undefined> {
    try {
      const text = await this.#deps.files.readText(this.currentPath, { maxBytes: MAX_BYTES });
      return text === undefined ? undefined : splitPair(text);
    } catch (error) {
      if (!isOutside(error)) throw error;
      const fields = { file: this.currentPath, error };
      this.#deps.log.warn("stored certificate is unusable", fields);
      return undefined;
    }
  }

  /**
   * Sets aside what cannot be used, and makes the newest pair that can be used the one that counts. To be
   * called before anybody reads `currentPath`.
   */
  async repair(state: Pick<StateFiles, "read" | "list" | "clearLeftovers">): Promise<void> {
    const { files, log } = this.#deps;
    await state.clearLeftovers(this.#folder);
    const holds = "a certificate signed by the cluster; the previous one is used";
    const file = (path: string) => ({ name: "signed_certificate", path, holds });
    const good = (path: string) => state.read(file(path), MAX_BYTES, decodePair);
    if (await good(this.currentPath)) return;
    const names = (await state.list(file(this.#folder))).map(({ name }) => name);
    const dated = names.filter((name) => this.#isDated(name)).toSorted();
    for (const name of dated.toReversed()) {
      const path = `${this.#folder}/${name}`;
      if (!(await good(path))) continue;
      await files.link(path, this.currentPath).catch((error: unknown) => {
        log.warn("failed to restore the previous certificate", { path, error });
      });
      return;
    }
  }

  /** Keeps a new pair and makes it the one that counts, in one step. */
  async update(pair: CertificatePair): Promise<void> {
    const { files, clock } = this.#deps;
    if (!(await files.facts(this.#folder, { follow: true })))
      await files.makeDirectory(this.#folder, FOLDER_MODE);
    const path = `${this.#folder}/${this.#name}-${stampOf(clock.wall())}.pem`;
    const text = `${pair.certificatePem.trimEnd()}\n${pair.privateKeyPem}`;
    await files.writeAtomic(path, text, PRIVATE_MODE);
    const next = `${this.currentPath}.next`;
    await files.link(path, next);
    await files.rename(next, this.currentPath);
    await this.#removeOld(path);
  }

  #isDated(name: string): boolean {
    return new RegExp(`^${this.#name}-\\d[\\d-]*\\.pem$`).test(name);
  }

  /** Only the present pair and the one before are of use. */
  async #removeOld(present: string): Promise<void> {
    const { files } = this.#deps;
    const names = ((await files.list(this.#folder)) ?? []).map(({ name }) => name);
    const old = names
      .filter((name) => this.#isDated(name) && `${this.#folder}/${name}` !== present)
      .toSorted()
      .slice(0, -1);
    for (const name of old) await files.remove(`${this.#folder}/${name}`);
  }
}

function decodePair(text: string): DecodedState<CertificatePair> {
  const value = splitPair(text);
  return value
    ? { kind: "read", value }
    : { kind: "broken", why: "it contains no certificate with its key" };
}

/** `2026-01-02-03-04-05`. */
function stampOf(now: WallMs): string {
  return new Date(now).toISOString().slice(0, 19).replaceAll(/[T:]/g, "-");
}

/** Certificate and key of one file. Throws `OutsideError` "invalid" when they do not belong together. */
export function splitPair(text: string): CertificatePair | undefined {
  const blocks = text.match(/-----BEGIN [A-Z0-9 ]+-----[\s\S]*?-----END [A-Z0-9 ]+-----/g) ?? [];
  const of = (kind: RegExp) => blocks.filter((block) => kind.test(block));
  const certificatePem = of(/^-----BEGIN CERTIFICATE-----/).join("\n");
  const [privateKeyPem] = of(/^-----BEGIN [A-Z ]*PRIVATE KEY-----/);
  if (certificatePem === "" || privateKeyPem === undefined) return undefined;
  const pair = { certificatePem: `${certificatePem}\n`, privateKeyPem: `${privateKeyPem}\n` };
  return keyBelongsTo(pair.privateKeyPem, pair.certificatePem) ? pair : undefined;
}

/** Whether the certificate is good now. */
export function isCurrent({ certificatePem }: CertificatePair, now: WallMs): boolean {
  const { notBefore, notAfter } = parseCertificate(certificatePem);
  return notBefore <= now && now < notAfter;
}
