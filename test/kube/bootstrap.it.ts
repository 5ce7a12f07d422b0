// A node that comes with a bootstrap token only, and certificates that soon end.
import assert from "node:assert/strict";
import { lstatSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parseCertificate } from "../../src/outside/x509/x509.ts";
import type { Box } from "../box/box.ts";
import { apiServerObstacle } from "./apiserver.ts";
import { conditionOf, PODS, podOf, withNode } from "./cluster-node.ts";

const skip = apiServerObstacle() ?? false;
const PKI = "/var/lib/kubelet/pki";
const KUBECONFIG = "/etc/nodelet/kubelet.kubeconfig";

/** Every file that holds a private key may be read by its owner only; what keys there are. */
function assertKeysArePrivate(box: Box): readonly string[] {
  const folder = box.path(PKI);
  const keys: string[] = [];
  for (const name of readdirSync(folder)) {
    // Links are absolute and lead astray from outside of the box.
    if (lstatSync(join(folder, name)).isSymbolicLink()) continue;
    const text = readFileSync(join(folder, name), "utf8");
    if (!text.includes("PRIVATE KEY")) continue;
    assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600, name);
    keys.push(text);
  }
  assert.ok(keys.length > 0);
  return keys;
}

test("bootstrap token, request, certificate, Ready within 15 s", { skip }, () => {
  let token = "";
  let startedAt = 0;
  return withNode(
    async (node, box) => {
      await node.untilNodeReady();
      const tookMs = performance.now() - startedAt;
      assert.ok(tookMs < 15_000, `Ready after ${tookMs} ms`);
      console.log(`bootstrap to Ready: ${Math.round(tookMs)} ms`);
      const keys = assertKeysArePrivate(box);
      assert.equal(statSync(box.path(KUBECONFIG)).mode & 0o777, 0o600);
      const log = node.agent.log();
      assert.ok(!log.includes(token), "the token is in the log");
      for (const key of keys) {
        const line =
          /\n([A-Za-z0-9+/=]{40,})\n/.exec(key.slice(key.indexOf("PRIVATE KEY")))?.[1] ?? "?";
        assert.ok(!log.includes(line), "a key is in the log");
      }
      assert.ok(!readdirSync(box.path(PKI)).some((name) => name.endsWith(".tmp")));
      await node.server.must("POST", PODS, podOf("web"));
      await node.untilReady("web");
      // A second start needs no token any more.
      const askedAt = performance.now();
      await node.agent.stop();
      assert.ok(performance.now() - askedAt < 20_000, "the agent exits on a signal");
      await node.agent.start();
      await node.untilNodeReady();
    },
    {
      signer: {},
      flags: async (server) => {
        const path = await server.bootstrapKubeconfig();
        token = /"token": "([^"]+)"/.exec(readFileSync(path, "utf8"))?.[1] ?? "";
        assert.notEqual(token, "");
        startedAt = performance.now();
        return [`--bootstrap-kubeconfig=${path}`, `--kubeconfig=${KUBECONFIG}`];
      },
    },
  );
});

test("certificates that soon end are renewed, of the client and of the port", { skip }, () => {
  return withNode(
    async (node, box) => {
      await node.untilNodeReady();
      await node.server.must("POST", PODS, podOf("web"));
      await node.untilReady("web");
      const current = (name: string) => {
        const link = readdirSync(box.path(PKI))
          .filter((file) => file.startsWith(`${name}-2`))
          .toSorted()
          .at(-1);
        return readFileSync(box.path(`${PKI}/${link}`), "utf8");
      };
      const serial = (name: string) => parseCertificate(current(name)).serial;
      await node.agent.until("a serving certificate", () => {
        try {
          return serial("kubelet-server") !== "";
        } catch {
          return false;
        }
      });
      const seen = { client: new Set<string>(), server: new Set<string>() };
      let flips = 0;
      await node.agent.until(
        "three certificates of each kind",
        async () => {
          seen.client.add(serial("kubelet-client"));
          seen.server.add(serial("kubelet-server"));
          if (conditionOf(await node.node(), "Ready") !== "True") flips += 1;
          if (conditionOf(await node.pod("web"), "Ready") !== "True") flips += 1;
          return seen.client.size >= 3 && seen.server.size >= 3;
        },
        120_000,
      );
      assert.equal(flips, 0);
      assertKeysArePrivate(box);
      // Through the API server, which believes no other authority than the cluster's.
      await node.agent.until("the port shows what the cluster signed", async () => {
        const reported = await node.server
          .kubectl(["exec", "web", "--", "echo", "hi"])
          .catch(() => "");
        return reported === "hi\n";
      });
      // The life of the first certificate is long over: what comes now comes with a later one.
      await node.server.kubectl(["delete", "pod", "web", "--wait=false"]);
      await node.agent.until("the pod is gone", async () => (await node.pod("web")) === undefined);
    },
    {
      signer: { lifetimeSeconds: 15 },
      config: "rotateCertificates: true\nserverTLSBootstrap: true",
      apiServerFlags: (folder) => [`--kubelet-certificate-authority=${folder}/ca.crt`],
      flags: async (server) => {
        const path = await server.bootstrapKubeconfig();
        return [`--bootstrap-kubeconfig=${path}`, `--kubeconfig=${KUBECONFIG}`];
      },
    },
  );
});
