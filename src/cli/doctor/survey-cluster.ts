/** Gathers what `doctor` says of the control plane of this machine. */
import { execFile } from "node:child_process";
import { request as requestPlain } from "node:http";
import { request as requestTls } from "node:https";
import { join } from "node:path";
import { promisify } from "node:util";
import { messageOf } from "../../kit/errors.ts";
import { doneValues, inParallel } from "../../kit/in-parallel.ts";
import {
  type EndingCertificate,
  judgeCertificates,
  judgeEtcd,
} from "../../present/control-plane/judge-control-plane.ts";
import { lastLine } from "../../present/text.ts";
import { fileNamesIn } from "../../process/programs.ts";
import { componentLine } from "../control-plane/component-evidence.ts";
import { KUBEADM_FILES } from "../control-plane/places.ts";
import { fileText } from "../control-plane/waiting/await-kubelet-files.ts";
import { etcdFacts } from "../etcd/etcd-manifest.ts";
import { inEtcd, type LocalEtcd } from "../etcd/local-etcd.ts";
import type { Check } from "../up/checks.ts";
import type { ClusterNote } from "../up/ledger.ts";
import {
  type HealthAddress,
  healthAddress,
  judgeComponent,
  judgeManifest,
} from "./judge-cluster.ts";

const ANSWER_MS = 5_000;
/** kubeadm asks the API server, if there is one, how certificates are renewed. */
const LIST_MS = 30_000;
const COMPONENTS = /^(?:etcd|kube-[a-z-]+)\.yaml$/;

/** Verdicts on the components, etcd's data and the certificates; none on a worker. */
export async function surveyControlPlane(
  cluster: ClusterNote,
  now: () => number,
): Promise<readonly Check[]> {
  const files = fileNamesIn(KUBEADM_FILES.manifests)
    .filter((name) => COMPONENTS.test(name))
    .toSorted()
    .map((name) => join(KUBEADM_FILES.manifests, name))
    .map((path) => ({ path, text: fileText(path) }));
  const unreadable = files.flatMap(({ path, text }) => judgeManifest(path, text) ?? []);
  const manifests = files.map(({ text }) => text);
  const addresses = manifests.flatMap((text) => healthAddress(text) ?? []);
  const components = doneValues(await inParallel(addresses, addresses.length, judgedHealth));
  const facts = manifests.flatMap((text) => etcdFacts(text) ?? [])[0];
  return [
    ...unreadable,
    ...components,
    ...(facts === undefined ? [] : [await judgedEtcd({ facts, cluster })]),
    ...(manifests.length === 0 ? [] : [await judgedCertificates(cluster, now())]),
  ];
}

async function judgedHealth({ component, url }: HealthAddress): Promise<Check> {
  const problem = await healthProblem(url);
  const wroteLast = problem === undefined ? undefined : componentLine(component);
  return judgeComponent({ component, problem, wroteLast });
}

/** Why an address does not say that all is well. Its certificate is that of the component alone, and nothing is sent to it. */
function healthProblem(url: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const onAnswer = (response: import("node:http").IncomingMessage) => {
      response.resume();
      resolve(response.statusCode === 200 ? undefined : `HTTP ${response.statusCode} of ${url}`);
    };
    const call = url.startsWith("https:")
      ? requestTls(url, { rejectUnauthorized: false, agent: false, signal }, onAnswer)
      : requestPlain(url, { agent: false, signal }, onAnswer);
    call.on("error", (error) => resolve(`no answer at ${url}: ${messageOf(error)}`));
    call.end();
  });
}

async function judgedEtcd(etcd: LocalEtcd): Promise<Check> {
  try {
    const status = await inEtcd(etcd, "etcdctl", ["endpoint", "status", "-w", "json"]);
    const alarms = await inEtcd(etcd, "etcdctl", ["alarm", "list"]);
    const [first] = JSON.parse(status) as { Status?: { dbSize?: number; dbSizeQuota?: number } }[];
    return judgeEtcd({
      bytes: first?.Status?.dbSize ?? 0,
      quotaBytes: first?.Status?.dbSizeQuota,
      alarms: [...alarms.matchAll(/alarm:(\w+)/g)].map(([, name = ""]) => name),
    });
  } catch (error) {
    return unknown("etcd's data", error, "nodelet why kube-system/etcd");
  }
}

async function judgedCertificates({ kubeadm }: ClusterNote, nowMs: number): Promise<Check> {
  try {
    const argv = ["certs", "check-expiration", "-o", "json"];
    const { stdout } = await promisify(execFile)(kubeadm, argv, { timeout: LIST_MS });
    const { certificates = [], certificateAuthorities = [] } = JSON.parse(stdout) as {
      readonly certificates?: readonly EndingCertificate[];
      readonly certificateAuthorities?: readonly EndingCertificate[];
    };
    return judgeCertificates([...certificates, ...certificateAuthorities], nowMs);
  } catch (error) {
    return unknown("certificates", error, "kubeadm certs check-expiration");
  }
}

function unknown(name: string, error: unknown, fix: string): Check {
  return { name, level: "warn", found: `unknown: ${lastLine(messageOf(error))}`, fix };
}
