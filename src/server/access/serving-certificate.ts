import { folderOf } from "../../config/paths.ts";
import { Cell, type Reading } from "../../kit/cell.ts";
import type { Clock, WallMs } from "../../kit/clock.ts";
import { isOutside, messageOf, UsageError } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import { runControlLoop } from "../../kit/loops/control-loop.ts";
import type { StateFile, StateFiles } from "../../kit/state/state-files.ts";
import type { Files } from "../../outside/host/host.ts";
import type { TlsMaterial } from "../../outside/serving.ts";
import {
  type AlternativeNames,
  generateKeyPair,
  keyBelongsTo,
  parseCertificate,
  parseCertificates,
  signCertificate,
} from "../../outside/x509/x509.ts";

/** Sources of certificates. */
export interface CertificateOptions {
  /** `tlsCertFile` and `tlsPrivateKeyFile`; without them one is made. */
  readonly given?: { readonly certFile: string; readonly keyFile: string };
  /** Folder of the one that is made (`--cert-dir`). */
  readonly folder: string;
  readonly nodeName: string;
  readonly addresses: readonly string[];
  /** `authentication.x509.clientCAFile`; empty without. */
  readonly clientCaFile: string;
}

export interface CertificateDeps {
  readonly files: Files;
  readonly state: Pick<StateFiles, "makeFolder" | "write" | "setAside">;
  readonly clock: Clock;
  readonly log: Log;
  /** An externally issued and renewed certificate; takes precedence as soon as it exists. */
  readonly issued?: Reading<TlsMaterial | undefined>;
}

const MAX_BYTES = 1024 * 1024;
const PRIVATE_MODE = 0o600;
const FOLDER_MODE = 0o755;
const DAY_MS = 86_400_000;
const LIFETIME_MS = 365 * DAY_MS;
/** Clocks of those who ask may be behind. */
const BACKDATED_MS = 3_600_000;
/** One of our own that ends sooner is recreated. */
const RENEW_BEFORE_MS = 30 * DAY_MS;
/** Interval at which files are checked even without a change notification. */
const RECHECK_MS = 60_000;

/** The certificate that is served, with the authorities of clients. Owns the files of the one it makes. */
export class ServingCertificate {
  readonly #options: CertificateOptions;
  readonly #deps: CertificateDeps;
  /** Content that was valid, by setting: reading it again each minute needs no parsing and no cryptography. */
  readonly #checked = new Map<string, string>();

  constructor(options: CertificateOptions, deps: CertificateDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** Reads what is there, or makes it. What cannot be used is a `UsageError` that names the setting. */
  async load(): Promise<TlsMaterial> {
    const { given, clientCaFile } = this.#options;
    const own = this.#deps.issued?.get() ?? (await this.#foundOrMade(given));
    if (clientCaFile === "") return own;
    return { ...own, clientAuthoritiesPem: await this.#readAuthorities(clientCaFile) };
  }

  async #foundOrMade(given: CertificateOptions["given"]): Promise<TlsMaterial> {
    return given
      ? await this.#readPair(given.certFile, given.keyFile, "tlsCertFile, tlsPrivateKeyFile")
      : await this.#ownPair();
  }

  /** Reloads certificates when the files change; broken ones are reported and not used. */
  async follow(
    first: TlsMaterial,
    take: (material: TlsMaterial) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { files, clock, log, issued } = this.#deps;
    const changes = new Cell(0);
    for (const folder of this.#folders())
      files.watchDirectory(folder, () => changes.set(changes.get() + 1), signal);
    let known = JSON.stringify(first);
    await runControlLoop<TlsMaterial>(
      {
        name: "server certificates",
        wakeOn: issued ? [changes, issued] : [changes],
        everyMs: RECHECK_MS,
        plan: async () => {
          const material = await this.#reload();
          return material && JSON.stringify(material) !== known ? material : undefined;
        },
        act: async (material) => {
          known = JSON.stringify(material);
          take(material);
          log.info("reloaded the server's certificates");
        },
      },
      clock,
      signal,
    );
  }

  async #reload(): Promise<TlsMaterial | undefined> {
    try {
      return await this.load();
    } catch (error) {
      if (!(error instanceof UsageError) && !isOutside(error)) throw error;
      this.#deps.log.error("failed to reload the changed certificates of the server", { error });
      return undefined;
    }
  }

  #folders(): readonly string[] {
    const { given, clientCaFile } = this.#options;
    const paths = [...(given ? [given.certFile, given.keyFile] : []), clientCaFile];
    return [...new Set(paths.filter((path) => path !== "").map(folderOf))];
  }

  async #readAuthorities(path: string): Promise<string> {
    const setting = "authentication.x509.clientCAFile";
    const pem = await this.#read(path, setting);
    if (this.#checked.get(setting) === pem) return pem;
    const found = usable(setting, path, () => parseCertificates(pem));
    if (found.length === 0) throw new UsageError(`${setting}: ${path} holds no certificate`);
    this.#checked.set(setting, pem);
    return pem;
  }

  async #readPair(certFile: string, keyFile: string, setting: string): Promise<TlsMaterial> {
    const certificatePem = await this.#read(certFile, setting);
    const privateKeyPem = await this.#read(keyFile, setting);
    const pair = certificatePem + privateKeyPem;
    if (this.#checked.get(setting) !== pair) {
      const fits = usable(setting, certFile, () => keyBelongsTo(privateKeyPem, certificatePem));
      if (!fits) throw new UsageError(`${setting}: ${keyFile} is not the key of ${certFile}`);
      this.#checked.set(setting, pair);
    }
    return { certificatePem, privateKeyPem };
  }

  async #read(path: string, setting: string): Promise<string> {
    let text: string | undefined;
    try {
      text = await this.#deps.files.readText(path, { maxBytes: MAX_BYTES });
    } catch (error) {
      throw new UsageError(`${setting}: ${messageOf(error)}`);
    }
    if (text === undefined) throw new UsageError(`${setting}: there is no file ${path}`);
    return text;
  }

  /** The one made before, as long as it is good for a while; else a new one. */
  async #ownPair(): Promise<TlsMaterial> {
    const { folder } = this.#options;
    const certFile = ownCertificateFile(folder);
    const keyFile = `${folder}/kubelet.key`;
    const { state } = this.#deps;
    try {
      const pair = await this.#readPair(certFile, keyFile, "--cert-dir");
      const why = this.#whyAnother(pair.certificatePem);
      if (why === undefined) return pair;
      this.#deps.log.info("creating a new server certificate", { file: certFile, why });
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      for (const path of [certFile, keyFile])
        if (await this.#isThere(path)) await state.setAside(stateFile(path), error.message);
    }
    const pair = await makePair(this.#options, this.#deps.clock.wall());
    await this.#keep(folder, { [keyFile]: pair.privateKeyPem, [certFile]: pair.certificatePem });
    return pair;
  }

  async #keep(folder: string, content: Readonly<Record<string, string>>): Promise<void> {
    const { state } = this.#deps;
    if (!(await this.#isThere(folder))) await state.makeFolder(stateFile(folder), FOLDER_MODE);
    try {
      for (const [path, text] of Object.entries(content))
        await state.write(stateFile(path), text, PRIVATE_MODE);
    } catch (error) {
      // Reported by the state files; the next start makes another.
      if (!isOutside(error)) throw error;
    }
  }

  /** A file that cannot be stat'ed counts as present: reading it reports the error. */
  async #isThere(path: string): Promise<boolean> {
    try {
      return (await this.#deps.files.facts(path, { follow: true })) !== undefined;
    } catch (error) {
      if (!isOutside(error)) throw error;
      return true;
    }
  }

  #whyAnother(pem: string): string | undefined {
    const { notAfter, names } = parseCertificate(pem);
    if (notAfter - this.#deps.clock.wall() < RENEW_BEFORE_MS) return "it is about to expire";
    const { dnsNames, ipAddresses } = namesOf(this.#options);
    const missing = [
      ...dnsNames.filter((name) => !names.dnsNames.includes(name)),
      ...ipAddresses.filter((address) => !names.ipAddresses.includes(address)),
    ];
    return missing.length > 0 ? `it does not name ${missing.join(", ")}` : undefined;
  }
}

/** Path of the self-signed certificate below `--cert-dir`; its key is `kubelet.key` beside it. */
export function ownCertificateFile(folder: string): string {
  return `${folder}/kubelet.crt`;
}

function stateFile(path: string): StateFile {
  return { name: "serving_certificate", path, holds: "the certificate of the HTTPS port" };
}

function usable<T>(setting: string, path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!isOutside(error)) throw error;
    throw new UsageError(`${setting}: ${path}: ${error.message}`);
  }
}

function namesOf({ nodeName, addresses }: CertificateOptions): AlternativeNames {
  return {
    dnsNames: [...new Set([nodeName, "localhost"])],
    ipAddresses: [...new Set([...addresses, "127.0.0.1", "::1"])],
  };
}

/** A certificate signed by an authority of its own, whose key is discarded; both are served. */
async function makePair(options: CertificateOptions, now: WallMs): Promise<TlsMaterial> {
  const [authorityKey, key] = await Promise.all([generateKeyPair(), generateKeyPair()]);
  const validity = {
    notBefore: (now - BACKDATED_MS) as WallMs,
    notAfter: (now + LIFETIME_MS) as WallMs,
  };
  const stamp = Math.floor(now / 1000);
  const authority = signCertificate(
    {
      ...validity,
      subject: { commonName: `${options.nodeName}-ca@${stamp}`, organizations: [] },
      publicKey: authorityKey.publicKey,
      use: "authority",
    },
    { privateKeyPem: authorityKey.privateKeyPem },
  );
  const certificate = signCertificate(
    {
      ...validity,
      subject: { commonName: `${options.nodeName}@${stamp}`, organizations: [] },
      names: namesOf(options),
      publicKey: key.publicKey,
      use: ["serverAuth"],
    },
    { certificatePem: authority, privateKeyPem: authorityKey.privateKeyPem },
  );
  return { certificatePem: certificate + authority, privateKeyPem: key.privateKeyPem };
}
