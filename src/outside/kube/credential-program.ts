import { spawn } from "node:child_process";
import { OutsideError } from "../../kit/errors.ts";
import type { CredentialProgram, ProgramCredentials } from "./transport/transport.ts";

/** A program ended, but not well. */
export class ProgramExit extends Error {
  readonly code: number;

  constructor(code: number) {
    super(`exit code ${code}`);
    this.code = code;
  }
}

/** Most that a program may write. */
const MAX_OUTPUT_BYTES = 1024 * 1024;
const TIMEOUT_MS = 60_000;
/** Bytes of what it complained about that are quoted. */
const QUOTED_BYTES = 500;

/**
 * Runs a credential program (client-go exec plugin) and reads what it hands out. Throws `OutsideError`; its
 * output never appears in messages, only what it wrote to standard error.
 */
export async function runCredentialProgram(
  program: CredentialProgram,
  signal: AbortSignal,
): Promise<ProgramCredentials> {
  const output = await run(program, signal);
  return parseCredentials(output, program);
}

function run(program: CredentialProgram, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (why: string, cause?: unknown) => {
      const hint = program.installHint === "" ? "" : `; ${program.installHint}`;
      const message = `credential program ${program.command}: ${why}${hint}`;
      reject(new OutsideError("unavailable", message, { cause }));
    };
    const child = spawn(program.command, program.args, {
      env: { ...process.env, ...program.env, KUBERNETES_EXEC_INFO: execInfo(program) },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: TIMEOUT_MS,
      signal,
    });
    let output = "";
    let complaint = "";
    child.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString("utf8");
      if (output.length > MAX_OUTPUT_BYTES) child.kill("SIGKILL");
    });
    child.stderr.on("data", (chunk: Buffer) => {
      complaint = (complaint + chunk.toString("utf8")).slice(-QUOTED_BYTES);
    });
    child.once("error", (error) =>
      signal.aborted ? reject(signal.reason) : fail(error.message, error),
    );
    child.once("close", (code, by) => {
      if (code === 0) resolve(output);
      else fail(`ended with ${by ?? code}: ${complaint.trim()}`, new ProgramExit(code ?? 1));
    });
  });
}

function execInfo({ apiVersion, cluster }: CredentialProgram): string {
  const info = cluster && {
    server: cluster.server,
    ...(cluster.tlsServerName ? { "tls-server-name": cluster.tlsServerName } : {}),
    ...(cluster.insecure ? { "insecure-skip-tls-verify": true } : {}),
    ...(cluster.authoritiesPem
      ? { "certificate-authority-data": Buffer.from(cluster.authoritiesPem).toString("base64") }
      : {}),
  };
  return JSON.stringify({
    kind: "ExecCredential",
    apiVersion,
    spec: { interactive: false, ...(info ? { cluster: info } : {}) },
  });
}

interface ExecCredential {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly status?: {
    readonly token?: string;
    readonly clientCertificateData?: string;
    readonly clientKeyData?: string;
    readonly expirationTimestamp?: string;
  };
}

function parseCredentials(output: string, program: CredentialProgram): ProgramCredentials {
  const fail = (why: string): never => {
    throw new OutsideError("invalid", `credential program ${program.command}: ${why}`);
  };
  const credential = parse(output, fail);
  if (credential?.kind !== "ExecCredential" || credential.apiVersion !== program.apiVersion)
    fail(`did not answer with an ExecCredential of ${program.apiVersion}`);
  const { token, clientCertificateData, clientKeyData, expirationTimestamp } =
    credential?.status ?? {};
  if (!token && !(clientCertificateData && clientKeyData))
    fail("answered with neither token nor certificate and key");
  const expiresAtMs =
    expirationTimestamp === undefined ? undefined : Date.parse(expirationTimestamp);
  return {
    ...(token ? { token } : {}),
    ...(clientCertificateData && clientKeyData
      ? { identity: { certificatePem: clientCertificateData, privateKeyPem: clientKeyData } }
      : {}),
    ...(expiresAtMs === undefined || Number.isNaN(expiresAtMs) ? {} : { expiresAtMs }),
  };
}

function parse(output: string, fail: (why: string) => never): ExecCredential | null {
  try {
    return JSON.parse(output) as ExecCredential | null;
  } catch {
    // The parser's own message quotes what it read, which may be a secret.
    return fail("its answer is not JSON");
  }
}
