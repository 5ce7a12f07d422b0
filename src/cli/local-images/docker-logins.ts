/** Credentials for a registry from docker's configuration: the file itself, and the credential helpers it names. */
import { type ExecFileException, execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseImageReference } from "../../api/text/image-reference.ts";
import { messageOf } from "../../kit/errors.ts";
import type { PullCredentials } from "../../outside/cri/cri.ts";
import { CliError } from "../../present/cli-error.ts";
import { oneLine } from "../../present/text.ts";
import { findProgram, searchPath } from "../../process/programs.ts";
import { lookupCredentials, parseDockerConfig } from "../../subsystems/images/images.ts";

/** Environment with credentials, and a callback for warnings. */
interface LoginSource {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly warn: (text: string) => void;
  readonly signal: AbortSignal;
}

const DOCKER_HUB = "https://index.docker.io/v1/";
const HELPER_MS = 30_000;
const MAX_REPLY_BYTES = 64 * 1024;
/** Output of a helper, on either stream, that has no login for the registry (docker-credential-helpers). */
const NO_CREDENTIALS = /credentials not found/i;
/** The user name that marks a secret as the token of a login. */
const TOKEN_USER = "<token>";
/** Helper names become part of a program's name, so they must not lead to another folder. */
const HELPER_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/**
 * Credentials for the registry of an image, the most specific first; those of a credential helper (`credHelpers`,
 * `credsStore`) come before those in the file. Throws `CliError` for a configuration or a helper that cannot be used.
 */
export async function dockerLogins(
  image: string,
  source: LoginSource,
): Promise<readonly PullCredentials[]> {
  const { env } = source;
  const file = join(env["DOCKER_CONFIG"] || join(env["HOME"] || "/root", ".docker"), "config.json");
  if (!existsSync(file)) return [];
  const { domain = "", path = "" } = parseImageReference(image) ?? {};
  const text = readFileSync(file, "utf8");
  let inFile: readonly PullCredentials[];
  try {
    const config = parseDockerConfig(text, "config.json");
    inFile = lookupCredentials([{ config }], `${domain}/${path}`);
  } catch (error) {
    throw new CliError(`cannot use ${file}: ${messageOf(error)}`, {
      fix: "correct it, or log in again with docker login",
    });
  }
  const helper = helperFor(domain, JSON.parse(text) as DockerFile);
  const stored = helper && (await askHelper({ ...helper, file, source }));
  return stored ? [stored, ...inFile] : inFile;
}

/** The fields of docker's configuration that say where credentials are stored. */
interface DockerFile {
  readonly auths?: Readonly<Record<string, unknown>> | null;
  readonly credsStore?: unknown;
  readonly credHelpers?: Readonly<Record<string, unknown>> | null;
}

interface Helper {
  readonly name: string;
  /** The field that names it. */
  readonly field: string;
  /** The registry as docker spells it for helpers. */
  readonly server: string;
  /** Whether the file says that this registry has a login. */
  readonly hasLogin: boolean;
}

function helperFor(domain: string, file: DockerFile): Helper | undefined {
  const server = domain === "docker.io" ? DOCKER_HUB : domain;
  for (const key of new Set([server, domain])) {
    const name = file.credHelpers?.[key];
    if (typeof name === "string" && name !== "")
      return { name, field: `credHelpers["${key}"]`, server, hasLogin: true };
  }
  const { credsStore: name } = file;
  if (typeof name !== "string" || name === "") return undefined;
  const logins = Object.keys(file.auths ?? {});
  const hasLogin = logins.some((key) => key === server || key === domain);
  return { name, field: "credsStore", server, hasLogin };
}

interface HelperQuestion extends Helper {
  readonly file: string;
  readonly source: LoginSource;
}

/** Asks a credential helper; `undefined` when it has no login for the registry. */
async function askHelper(question: HelperQuestion): Promise<PullCredentials | undefined> {
  const { name, field, file, server, hasLogin, source } = question;
  const named = `${field} in ${file}`;
  if (!HELPER_NAME.test(name))
    throw new CliError(`${named} is not the name of a credential helper: ${oneLine(name)}`, {
      fix: 'write the part after "docker-credential-", for example pass',
    });
  const program = `docker-credential-${name}`;
  const path = findProgram(program);
  if (path === undefined) {
    const problem = `${program} (${named}) is not installed`;
    if (hasLogin)
      throw new CliError(`failed to get credentials for ${server}: ${problem}`, {
        fix: `install ${program}, or remove ${field} and log in again with docker login`,
      });
    source.warn(`${problem}; pulling from ${server} without credentials`);
    return undefined;
  }
  const reply = await runHelper(path, server, source);
  if (reply.kind === "none") return undefined;
  const login = reply.kind === "reply" ? readReply(reply.text) : undefined;
  if (login !== undefined) return login;
  const why = reply.kind === "failed" ? reply.why : "its reply is not valid";
  throw new CliError(`failed to get credentials for ${server} from ${program} (${named}): ${why}`, {
    fix: `run it by hand: echo ${server} | ${program} get`,
  });
}

type HelperReply =
  | { readonly kind: "reply"; readonly text: string }
  | { readonly kind: "none" }
  | { readonly kind: "failed"; readonly why: string };

function runHelper(path: string, server: string, source: LoginSource): Promise<HelperReply> {
  const { env, signal } = source;
  const options = {
    env: { ...env, PATH: searchPath(env) },
    timeout: HELPER_MS,
    maxBuffer: MAX_REPLY_BYTES,
    encoding: "utf8",
    signal,
  } as const;
  return new Promise((resolve, reject) => {
    const child = execFile(path, ["get"], options, (error, stdout, stderr) => {
      if (signal.aborted) return reject(signal.reason);
      if (error === null) return resolve({ kind: "reply", text: stdout });
      const stated = oneLine(stderr.trim() || stdout.trim());
      if (NO_CREDENTIALS.test(stated)) return resolve({ kind: "none" });
      resolve({ kind: "failed", why: failureOf(error, stated) });
    });
    // One that does not read its input, or cannot be started, is reported by its end.
    child.stdin?.on("error", () => {});
    child.stdin?.end(`${server}\n`);
  });
}

function failureOf(error: ExecFileException, stated: string): string {
  if (error.killed) return `it did not reply within ${HELPER_MS / 1000} seconds`;
  if (error.code === "ERR_CHILD_PROCESS_STDIO_MAXBUFFER") return "its reply is too long";
  if (typeof error.code === "string") return `it cannot be run (${error.code})`;
  return stated || `it exited with ${error.code ?? error.signal}`;
}

/** Reads `{"ServerURL": …, "Username": …, "Secret": …}`. The reply itself is never quoted. */
function readReply(text: string): PullCredentials | undefined {
  try {
    const reply = JSON.parse(text) as Readonly<Record<string, unknown>> | null;
    const { Username: username, Secret: password } = reply ?? {};
    if (typeof username !== "string" || typeof password !== "string") return undefined;
    return username === TOKEN_USER ? { identityToken: password } : { username, password };
  } catch {
    return undefined;
  }
}
