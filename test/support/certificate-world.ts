// Certificates of pods on virtual time: volumes, an API server, a signer, and files to inspect.
import assert from "node:assert/strict";
import { createPrivateKey, generateKeyPairSync, X509Certificate } from "node:crypto";
import type {
  PodCertificateProjection,
  PodCertificateRequest,
} from "../../src/api/generated/types.ts";
import type { IdentifiedPod, PodUid } from "../../src/api/pod-identity.ts";
import { silentLog } from "../../src/kit/log.ts";
import { MetricsRegistry } from "../../src/kit/metrics.ts";
import { createSeededRandom } from "../../src/kit/random.ts";
import { TaskScope } from "../../src/kit/scope.ts";
import { KubeClient } from "../../src/outside/kube/kube.ts";
import type { KeyPair } from "../../src/outside/x509/x509.ts";
import { PodCertificates, Volumes } from "../../src/subsystems/volumes/volumes.ts";
import { FakeApiServer } from "../sim/fake-apiserver.ts";
import { FakeHost } from "../sim/fake-host.ts";
import { SimClock } from "../sim/sim-clock.ts";
import { PodSigner } from "./pod-signer.ts";
import { volumeReports } from "./volume-reports.ts";

const ROOTS = { root: "/r", logs: "/l" };
const ALLOCATABLE = { cpuMilli: 2000, memoryBytes: 2 ** 33, ephemeralStorageBytes: 2 ** 34 };
const OPTIONS = { roots: ROOTS, clusterDomain: "", allocatable: ALLOCATABLE };
/** Where the volume is. */
export const VOLUME = "/r/pods/u1/volumes/kubernetes.io~projected/v";
export const PLURAL = "podcertificaterequests";
export const AT = { collection: `certificates.k8s.io/${PLURAL}`, namespace: "default" };
export const SIGNER = "example.test/s";
export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const FILES = { keyPath: "key.pem", certificateChainPath: "chain.pem" };
const { signal } = new AbortController();
export const SETUP = 'MountVolume.SetUp failed for volume "v" : ';

/** Keys that are there at once: no virtual clock waits for real work. */
async function newKey(): Promise<KeyPair> {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return {
    privateKeyPem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    publicKey: publicKey.export({ type: "spki", format: "der" }),
  };
}

export function podWith(more: Partial<PodCertificateProjection> = {}): IdentifiedPod {
  const podCertificate = {
    signerName: SIGNER,
    keyType: "ED25519",
    credentialBundlePath: "bundle.pem",
    ...more,
  };
  return {
    metadata: { name: "p", namespace: "default", uid: "u1" as PodUid },
    spec: {
      containers: [],
      serviceAccountName: "robot",
      securityContext: { fsGroup: 42 },
      volumes: [{ name: "v", projected: { sources: [{ podCertificate }] } }],
    },
  };
}

export async function world(seed = 1) {
  const clock = new SimClock();
  const random = createSeededRandom(seed);
  const server = new FakeApiServer(clock, random);
  server.objects.create({ collection: "nodes", namespace: undefined }, { metadata: { name: "n" } });
  const account = { metadata: { name: "robot" } };
  server.objects.create({ collection: "serviceaccounts", namespace: "default" }, account);
  const host = new FakeHost({ clock });
  await host.files.makeDirectory("/r/pods/u1/volumes", 0o750);
  const signer = await PodSigner.create(clock.wall());
  const faults: string[] = [];
  const events: string[] = [];
  const agent = () => {
    const client = new KubeClient({}, { transport: server, clock, log: silentLog });
    const scope = new TaskScope("test", { clock, log: silentLog });
    const metrics = new MetricsRegistry();
    const certificates = new PodCertificates({
      client,
      clock,
      random,
      scope,
      metrics,
      nodeName: "n",
      newKey,
      log: silentLog,
      events: {
        ofPod: (_, { type, reason, message }) => events.push(`${type} ${reason}: ${message}`),
      },
    });
    const deps = { clock, random, certificates, files: host.files, volumes: host.volumes };
    const volumes = new Volumes(OPTIONS, {
      ...deps,
      ...volumeReports(({ message }) => faults.push(message)),
    });
    return { volumes, metrics, scope };
  };
  const requests = () => server.objects.list(AT.collection) as unknown as PodCertificateRequest[];
  const answer = (request: PodCertificateRequest, status: PodCertificateRequest["status"]) => {
    const place = { ...AT, name: request.metadata?.name ?? "" };
    server.objects.patch(place, true, { body: { status }, strategic: false });
  };
  /** Grants what is open and returns how many that were. */
  const issue = (refreshInMs = 12 * HOUR_MS, lifeMs = 24 * HOUR_MS): number => {
    const open = requests().filter(({ status }) => status === undefined);
    for (const one of open)
      answer(one, signer.issue(one, { now: clock.wall(), refreshInMs, lifeMs }));
    return open.length;
  };
  const read = (name: string) => host.files.readText(`${VOLUME}/${name}`, { maxBytes: 1 << 16 });
  return {
    ...agent(),
    agent,
    clock,
    server,
    host,
    signer,
    faults,
    events,
    requests,
    answer,
    issue,
    read,
  };
}

export type World = Awaited<ReturnType<typeof world>>;

/** Starts mounting; returns whether it is done. */
export function mounting({ volumes }: Pick<World, "volumes">, pod: IdentifiedPod) {
  const state = { done: false, failed: "" };
  volumes.mount(pod, signal).then(
    () => {
      state.done = true;
    },
    (error: unknown) => {
      state.failed = String(error);
    },
  );
  return state;
}

export async function issued(given: World, pod = podWith(), refreshInMs?: number, lifeMs?: number) {
  const mount = mounting(given, pod);
  await given.clock.advance(500);
  assert.equal(given.issue(refreshInMs, lifeMs), 1);
  await given.clock.advance(500);
  assert.equal(mount.done, true);
}

/** Private key and leaf of the files are a pair. */
export async function assertPair({ read }: World): Promise<void> {
  const key = createPrivateKey((await read("key.pem")) ?? "");
  assert.ok(new X509Certificate((await read("chain.pem")) ?? "").checkPrivateKey(key));
}
