/** Asks the cluster whether this machine may join, before anything is changed here. */
import { request } from "node:https";
import { CliError } from "../../present/cli-error.ts";
import type { ClusterObstacle } from "../control-plane/version-skew.ts";
import { connectionObstacle, type JoinCredentials, judgeClusterInfo } from "./cluster-info.ts";

/** What is needed for the node before it can ask the API. */
interface Discovered {
  /** Version of the API server, like `v1.37.2`. */
  readonly version: string | undefined;
}

const CLUSTER_INFO = "/api/v1/namespaces/kube-public/configmaps/cluster-info";
const ANSWER_MS = 10_000;
const MAX_ANSWER_BYTES = 1024 * 1024;

/** Throws `CliError` with what stands against it. */
export async function discoverCluster(
  credentials: JoinCredentials,
  now: () => number,
): Promise<Discovered> {
  const { endpoint } = credentials;
  const info = await ask(endpoint, CLUSTER_INFO);
  if (info.status !== 200)
    throw refuse({
      problem: `the API server at ${endpoint} offers no cluster to join (HTTP ${info.status})`,
      fix: "kubeadm init phase bootstrap-token on a control plane lets it do so",
    });
  const { data = {} } = JSON.parse(info.body) as { readonly data?: Record<string, string> };
  const serverTimeMs = Date.parse(info.date);
  const judged = judgeClusterInfo(credentials, {
    data,
    serverTimeMs: Number.isNaN(serverTimeMs) ? undefined : serverTimeMs,
    nowMs: now(),
  });
  if (!("authoritiesPem" in judged)) throw refuse(judged);
  // From here on nobody else may answer for it.
  const { status, body } = await ask(endpoint, "/version", judged.authoritiesPem);
  // Not every cluster answers machines that have no certificate yet.
  if (status !== 200) return { version: undefined };
  const { gitVersion } = JSON.parse(body) as { readonly gitVersion?: string };
  return { version: gitVersion };
}

/** The obstacle as an error of the command. */
export function refuse({ problem, fix }: ClusterObstacle): CliError {
  return new CliError(problem, { fix });
}

interface Answer {
  readonly status: number;
  readonly date: string;
  readonly body: string;
}

/** One request; without authorities the server's certificate is not checked. Throws `CliError` without an answer. */
function ask(endpoint: string, path: string, authorities?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = {
      ...(authorities === undefined ? { rejectUnauthorized: false } : { ca: authorities }),
      signal: AbortSignal.timeout(ANSWER_MS),
      agent: false as const,
    };
    const failed = (error: unknown) => {
      const isLate =
        (error as Error).name === "AbortError" || (error as Error).name === "TimeoutError";
      const cause = isLate ? Object.assign(new Error(), { code: "ETIMEDOUT" }) : error;
      reject(refuse(connectionObstacle(endpoint, cause)));
    };
    const call = request(`https://${endpoint}${path}`, options, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (text: string) => {
        body += text;
        if (body.length > MAX_ANSWER_BYTES) call.destroy(new Error("the answer is too long"));
      });
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, date: response.headers.date ?? "", body }),
      );
      response.on("error", failed);
    });
    call.on("error", failed);
    call.end();
  });
}
