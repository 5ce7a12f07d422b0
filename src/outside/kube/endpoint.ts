import { Cell } from "../../kit/cell.ts";
import type { Clock } from "../../kit/clock.ts";
import { OutsideError, UsageError } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { Files } from "../host/host.ts";
import { keyBelongsTo } from "../x509/x509.ts";
import type { Kubeconfig, Source } from "./kubeconfig.ts";
import type {
  ApiEndpoint,
  ClientIdentity,
  CredentialProgram,
  Credentials,
  Kube,
  ProgramCredentials,
} from "./transport/transport.ts";

export interface EndpointDeps {
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
  readonly kube: Pick<Kube, "runCredentialProgram">;
}

/** An endpoint whose credentials may change. */
export interface LoadedEndpoint {
  readonly endpoint: ApiEndpoint;
  /** Reads certificate files again as long as it runs; ends with the signal. */
  keepFresh(signal: AbortSignal): Promise<void>;
}

/** Largest certificate, key or token file that is read. */
const MAX_FILE_BYTES = 1024 * 1024;
/** A token file is read again after this (client-go: a minute, ten seconds before). */
const TOKEN_FRESH_MS = 50_000;
/** Interval at which certificate files are checked. */
const CERTIFICATE_PERIOD_MS = 60_000;
/** Credentials of a program are asked for again so long before they end. */
const PROGRAM_EARLY_MS = 10_000;

/** Reads what a kubeconfig names. Throws `UsageError` for what is missing or does not fit together. */
export async function loadEndpoint(
  config: Kubeconfig,
  deps: EndpointDeps,
): Promise<LoadedEndpoint> {
  const authoritiesPem = config.authorities && (await readSource(config.authorities, deps.files));
  const { certificate, privateKey } = config;
  const readIdentity =
    certificate && privateKey
      ? async (): Promise<ClientIdentity> => readPair(certificate, privateKey, deps.files)
      : undefined;
  const identity = new Cell<ClientIdentity | undefined>(await readIdentity?.());
  const endpoint: ApiEndpoint = {
    server: config.server,
    ...(authoritiesPem === undefined ? {} : { authoritiesPem }),
    ...(config.serverName === undefined ? {} : { serverName: config.serverName }),
    insecure: config.insecure,
    credentials: credentialsOf(config, identity, deps),
  };
  const inFiles = certificate?.kind === "file" || privateKey?.kind === "file";
  return {
    endpoint,
    keepFresh: async (signal) => {
      if (readIdentity && inFiles) await followFiles(identity, readIdentity, deps, signal);
    },
  };
}

function credentialsOf(
  config: Kubeconfig,
  identity: Cell<ClientIdentity | undefined>,
  deps: EndpointDeps,
): Credentials {
  const token = config.token
    ? tokenOf(config.token, deps)
    : config.program && programToken(config.program, identity, deps);
  return {
    ...(identity.get() || config.program ? { identity } : {}),
    ...(token ? { token } : {}),
    ...(config.basic ? { basic: config.basic } : {}),
    headers: config.headers,
  };
}

type TokenOf = NonNullable<Credentials["token"]>;

function tokenOf(source: Source, { files, clock }: EndpointDeps): TokenOf {
  if (source.kind === "text") return async () => source.text;
  let known: { readonly token: string; readonly at: number } | undefined;
  return async (refused) => {
    const isFresh = known !== undefined && clock.monotonic() - known.at < TOKEN_FRESH_MS;
    if (known && isFresh && !refused) return known.token;
    const text = (await readSource(source, files)).trim();
    known = { token: text, at: clock.monotonic() };
    return text;
  };
}

/** Asks the program when nothing is known, when what is known ends, and when it was refused. */
function programToken(
  program: CredentialProgram,
  identity: Cell<ClientIdentity | undefined>,
  { clock, kube }: EndpointDeps,
): TokenOf {
  let known: ProgramCredentials | undefined;
  let asking: Promise<ProgramCredentials> | undefined;
  return async (refused, signal) => {
    const end = known?.expiresAtMs ?? Number.POSITIVE_INFINITY;
    if (known && !refused && clock.wall() < end - PROGRAM_EARLY_MS) return known.token;
    asking ??= kube.runCredentialProgram(program, signal).finally(() => {
      asking = undefined;
    });
    known = await asking;
    if (known.identity && !isSame(identity.get(), known.identity)) identity.set(known.identity);
    return known.token;
  };
}

async function followFiles(
  identity: Cell<ClientIdentity | undefined>,
  read: () => Promise<ClientIdentity>,
  { clock, log }: EndpointDeps,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await clock.coalesced.sleep(CERTIFICATE_PERIOD_MS, signal).catch(() => {});
    if (signal.aborted) return;
    try {
      const now = await read();
      if (isSame(identity.get(), now)) continue;
      identity.set(now);
      log.info("the client certificate of the kubeconfig has changed");
    } catch (error) {
      // Half of a replacement, most likely: the old one is used until both parts fit again.
      log.warn("failed to read the client certificate of the kubeconfig", {
        error,
      });
    }
  }
}

async function readPair(
  certificate: Source,
  privateKey: Source,
  files: Files,
): Promise<ClientIdentity> {
  const pair = {
    certificatePem: await readSource(certificate, files),
    privateKeyPem: await readSource(privateKey, files),
  };
  const where = certificate.kind === "file" ? certificate.path : "client-certificate-data";
  try {
    if (keyBelongsTo(pair.privateKeyPem, pair.certificatePem)) return pair;
  } catch (error) {
    if (error instanceof OutsideError) throw new UsageError(`${where}: ${error.message}`);
    throw error;
  }
  throw new UsageError(`${where}: the private key belongs to another certificate`);
}

async function readSource(source: Source, files: Files): Promise<string> {
  if (source.kind === "text") return source.text;
  const text = await files.readText(source.path, { maxBytes: MAX_FILE_BYTES });
  if (text === undefined) throw new UsageError(`${source.path} does not exist`);
  return text;
}

function isSame(a: ClientIdentity | undefined, b: ClientIdentity): boolean {
  return a?.certificatePem === b.certificatePem && a.privateKeyPem === b.privateKeyPem;
}
