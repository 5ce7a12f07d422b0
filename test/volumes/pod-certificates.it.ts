// Certificates of pods, seen from inside a container: the API is the project's own, the signer is the test.
import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { mkdtempSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type {
  CoreEvent,
  Pod,
  PodCertificateProjection,
  PodCertificateRequest,
} from "../../src/api/generated/types.ts";
import type { WallMs } from "../../src/kit/clock.ts";
import { type Box, withBox } from "../box/box.ts";
import { adminRequest } from "../kube/admin.ts";
import { conditionOf, NODE, PODS, podOf } from "../kube/cluster-node.ts";
import { accessIn } from "../localapi/local-api.ts";
import { BoxedAgent, podTraces } from "../support/agent.ts";
import { condition, PodSigner } from "../support/pod-signer.ts";
import { PROGRAM } from "../support/program.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";
import { insideOf, staying } from "./world.ts";

const SERVER = join(import.meta.dirname, "../localapi/serve.ts");
const PORT = 6443;
const LOOPBACK = "127.0.0.1";
const REQUESTS = "/apis/certificates.k8s.io/v1/namespaces/default/podcertificaterequests";
const BUNDLES = "/apis/certificates.k8s.io/v1/clustertrustbundles";
const SIGNER = "example.test/pods";
const START_MS = 30_000 * TIMEOUT_FACTOR;
const HOUR_MS = 3_600_000;
/** No certificate is asked for twice within a minute. */
const RENEWED_MS = 90_000;

/** The project's API in a box, asked by its administrator. */
class BoxedApi {
  readonly #box: Box;
  readonly #folder: string;

  private constructor(box: Box, folder: string) {
    this.#box = box;
    this.#folder = folder;
  }

  static async start(box: Box): Promise<BoxedApi> {
    const folder = mkdtempSync(join(box.folder, "api-"));
    box.spawnLogged("api", [process.execPath, SERVER, folder, String(PORT), NODE]);
    const deadline = performance.now() + START_MS;
    const reported = () => readFileSync(join(box.folder, "api.log"), "utf8");
    while (!/^serving$/m.test(reported())) {
      if (performance.now() > deadline) throw new Error(`the API does not start\n${reported()}`);
      await sleep(100);
    }
    return new BoxedApi(box, folder);
  }

  get nodeKubeconfig(): string {
    return join(this.#folder, "api/node.kubeconfig");
  }

  async must<T>(method: string, path: string, body?: unknown): Promise<T> {
    const { caPem, identity } = accessIn(join(this.#folder, "kubeconfig"));
    const address = await this.#box.forward(PORT, LOOPBACK);
    const dial = async () => connect(address);
    const request = { method, path, ...(body === undefined ? {} : { body }) };
    const reply = await adminRequest({ dial, caPem, identity, serverName: "localhost" }, request);
    if (reply.status >= 300)
      throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
    return reply.body as T;
  }

  pod(name: string): Promise<Pod> {
    return this.must("GET", `${PODS}/${name}`);
  }

  async requestsOf(pod: string): Promise<readonly PodCertificateRequest[]> {
    const { items } = await this.must<{ items: readonly PodCertificateRequest[] }>("GET", REQUESTS);
    return items.filter(({ spec }) => spec.podName === pod);
  }

  async answer(
    request: PodCertificateRequest,
    status: PodCertificateRequest["status"],
  ): Promise<void> {
    const path = `${REQUESTS}/${request.metadata?.name}/status`;
    await this.must("PUT", path, { ...request, status });
  }

  async events(pod: string): Promise<readonly string[]> {
    const { items } = await this.must<{ items: readonly CoreEvent[] }>(
      "GET",
      "/api/v1/namespaces/default/events",
    );
    return items
      .filter(({ involvedObject }) => involvedObject.name === pod)
      .map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
  }
}

async function withApi(use: (api: BoxedApi, agent: BoxedAgent, box: Box) => Promise<void>) {
  await withBox({}, async (box) => {
    const api = await BoxedApi.start(box);
    const flags = [`--hostname-override=${NODE}`, `--kubeconfig=${api.nodeKubeconfig}`];
    await use(api, await BoxedAgent.start(box, { flags }), box);
  });
}

function podWith(name: string, more: Partial<PodCertificateProjection> = {}): Pod {
  const podCertificate = {
    signerName: SIGNER,
    keyType: "ECDSAP256",
    credentialBundlePath: "bundle.pem",
    ...more,
  };
  const items = [{ path: "namespace", fieldRef: { fieldPath: "metadata.namespace" } }];
  return podOf(name, {
    securityContext: { fsGroup: 4242 },
    volumes: [
      { name: "p", projected: { sources: [{ podCertificate }, { downwardAPI: { items } }] } },
      { name: "o", emptyDir: {} },
    ],
    containers: [
      staying("main", {
        volumeMounts: [
          { name: "p", mountPath: "/p" },
          { name: "o", mountPath: "/o" },
        ],
      }),
    ],
  });
}

/** Key and certificates of a text, which must belong together and be of the signer; gives the serial. */
function assertBundle(text: string, { authorityPem }: PodSigner): string {
  const [key = "", leaf = "", root = "", ...more] =
    text.match(/-----BEGIN[\s\S]*?-----END.*\n/g) ?? [];
  assert.equal(`${key}${leaf}${root}`, text, "nothing between the blocks");
  assert.deepEqual(more, []);
  assert.match(key, /^-----BEGIN PRIVATE KEY-----\n/);
  assert.equal(root, authorityPem);
  const certificate = new X509Certificate(leaf);
  assert.ok(certificate.checkPrivateKey(createPrivateKey(key)), "the key is the certificate's");
  assert.ok(certificate.verify(new X509Certificate(root).publicKey));
  return certificate.serialNumber;
}

/** Reads all the time: whole bundles, and key and chain of one `..data`; each that differs is kept. */
const READER = `
(reads=0
 while [ ! -e /o/stop ]; do
   cat /p/bundle.pem >/o/b && cp /o/b /o/seen-$(md5sum </o/b | cut -c1-32)
   d=/p/$(readlink /p/..data)
   cat $d/key.pem $d/chain.pem >/o/k 2>/dev/null && cp /o/k /o/seen-$(md5sum </o/k | cut -c1-32)
   reads=$((reads+1))
 done; echo $reads >/o/reads) </dev/null >/o/words 2>&1 &`;

test("key and certificate in one step: first, at their time, and after a restart of the agent", () =>
  withApi(async (api, agent, box) => {
    const before = await podTraces(box);
    const inside = insideOf(box, async () => (await api.pod("pod")).status);
    const signer = await PodSigner.create(Date.now() as WallMs);
    const paths = { keyPath: "key.pem", certificateChainPath: "chain.pem" };
    const annotations = { userAnnotations: { "example.test/role": "web" } };
    await api.must("POST", PODS, podWith("pod", { ...paths, ...annotations }));
    const waits =
      /^Warning FailedMount: MountVolume.SetUp failed for volume "p" : credential bundle is not issued yet: PodCertificateRequest default\/req-\w+ waits for signer example.test\/pods$/;
    await agent.until("it says for whom it waits", async () =>
      (await api.events("pod")).some((text) => waits.test(text)),
    );
    const why = await box.run([process.execPath, PROGRAM, "why", "pod"]);
    assert.match(why.replace(/\s+/g, " "), /waits for signer example.test\/pods/);
    const [request, ...more] = await api.requestsOf("pod");
    assert.ok(request);
    assert.deepEqual(more, []);
    assert.deepEqual(request.spec.unverifiedUserAnnotations, annotations.userAnnotations);
    /** Grants what is open; certificates are due for renewal at once. */
    const sign = async (): Promise<void> => {
      const open = (await api.requestsOf("pod")).filter(
        ({ status }) => !status?.conditions?.length,
      );
      const times = { now: Date.now() as WallMs, refreshInMs: -HOUR_MS / 2, lifeMs: HOUR_MS };
      for (const one of open) await api.answer(one, signer.issue(one, times));
    };
    await sign();
    await agent.until("the pod is Ready", async () => {
      return conditionOf(await api.pod("pod"), "Ready") === "True";
    });
    const first = assertBundle(await inside("cat /p/bundle.pem"), signer);
    assert.equal(assertBundle(await inside("cat /p/key.pem /p/chain.pem"), signer), first);
    assert.equal(await inside("cat /p/namespace"), "default");
    assert.equal(
      await inside("stat -L -c '%a %g' /p/bundle.pem /p/key.pem"),
      "640 4242\n".repeat(2),
    );
    await inside(READER);
    const serialNow = async () => assertBundle(await inside("cat /p/bundle.pem"), signer);
    const renewed = async (serial: string): Promise<string> => {
      await agent.until(
        "there is another certificate",
        async () => {
          await sign();
          return (await serialNow()) !== serial;
        },
        RENEWED_MS,
      );
      return await serialNow();
    };
    const second = await renewed(first);
    await agent.kill();
    await agent.start();
    assert.equal(await serialNow(), second, "the old one until there is a new one");
    await renewed(second);
    await inside("touch /o/stop");
    await agent.until(
      "the reader has ended",
      async () => (await inside("cat /o/reads || true")) !== "",
    );
    const seen = (await inside("cd /o; ls seen-*")).trim().split("\n");
    const serials = new Set<string>();
    for (const name of seen) serials.add(assertBundle(await inside(`cat /o/${name}`), signer));
    console.log(`${(await inside("cat /o/reads")).trim()} reads, ${serials.size} certificates`);
    assert.ok(serials.size >= 3, `${serials.size} certificates: ${await inside("cat /o/words")}`);
    assert.equal((await api.pod("pod")).status?.containerStatuses?.[0]?.restartCount, 0);
    await api.must("DELETE", `${PODS}/pod`);
    await agent.until("nothing is left", async () => {
      return JSON.stringify(await podTraces(box)) === JSON.stringify(before);
    });
  }));

test("a trust bundle of the API is a file of the pod", () =>
  withApi(async (api, agent, box) => {
    const inside = insideOf(box, async () => (await api.pod("pod")).status);
    const { authorityPem: trustBundle } = await PodSigner.create(Date.now() as WallMs);
    const metadata = { name: "example.test:pods:live", labels: { live: "yes" } };
    const spec = { signerName: SIGNER, trustBundle };
    await api.must("POST", BUNDLES, { metadata, spec });
    const labelSelector = { matchLabels: { live: "yes" } };
    const sources = [
      { clusterTrustBundle: { path: "named.pem", name: metadata.name } },
      { clusterTrustBundle: { path: "chosen.pem", signerName: SIGNER, labelSelector } },
    ];
    const volumeMounts = [{ name: "p", mountPath: "/p" }];
    const volumes = [{ name: "p", projected: { sources } }];
    const pod = podOf("pod", { volumes, containers: [staying("main", { volumeMounts })] });
    await api.must("POST", PODS, pod);
    await agent.until("the pod is Ready", async () => {
      return conditionOf(await api.pod("pod"), "Ready") === "True";
    });
    for (const name of ["named.pem", "chosen.pem"])
      assert.equal(await inside(`cat /p/${name}`), trustBundle);
  }));

test("a denial is reported by events, and not asked again", () =>
  withApi(async (api, agent) => {
    await api.must("POST", PODS, podWith("pod", { keyType: "RSA3072" }));
    await agent.until("it asks", async () => (await api.requestsOf("pod")).length === 1, 60_000);
    const [request] = await api.requestsOf("pod");
    assert.ok(request);
    const name = request.metadata?.name;
    const denied = condition("Denied", "UnsupportedKeyType", "use ED25519", Date.now() as WallMs);
    await api.answer(request, { conditions: [denied] });
    const reported = [
      `Warning Denied: PodCertificateRequest default/${name} was denied, reason="UnsupportedKeyType", message="use ED25519"`,
      'Warning FailedMount: MountVolume.SetUp failed for volume "p" : PodCertificateRequest was permanently denied: reason="UnsupportedKeyType" message="use ED25519"',
    ];
    for (const text of reported)
      await agent.until(text, async () => (await api.events("pod")).includes(text));
    assert.equal((await api.pod("pod")).status?.phase, "Pending");
    assert.equal((await api.requestsOf("pod")).length, 1);
  }));
