/** A Deployment behind a Service, and pods that ask it by its name. */
import { setTimeout as sleep } from "node:timers/promises";
import { type ClusterMachine, WEB_IMAGE } from "./machine.ts";

const ANSWER_MS = 180_000;
const SERVICE = "web.default.svc.cluster.local:80";
const SERVE = "mkdir /www; hostname >/www/index.html; exec httpd -f -p 80 -h /www";

/** Makes the Deployment and its Service. */
export async function serveWeb(machine: ClusterMachine, replicas: number): Promise<void> {
  const of = [`--image=${WEB_IMAGE}`, `--replicas=${replicas}`];
  await machine.kubectl("create", "deployment", "web", ...of, "--", "sh", "-c", SERVE);
  await machine.kubectl("expose", "deployment", "web", "--port=80");
}

/** Makes a pod that can ask; on the node where one is named. */
export async function startClient(
  machine: ClusterMachine,
  name: string,
  node?: string,
): Promise<void> {
  const where =
    node === undefined ? [] : [`--overrides=${JSON.stringify({ spec: { nodeName: node } })}`];
  const argv = [
    "run",
    name,
    `--image=${WEB_IMAGE}`,
    ...where,
    "--command",
    "--",
    "sleep",
    "100000",
  ];
  await machine.kubectl(...argv);
}

/** Waits until a pod reaches the Service by its DNS name, or another address. */
export async function answered(
  machine: ClusterMachine,
  client: string,
  address = SERVICE,
): Promise<void> {
  const deadline = performance.now() + ANSWER_MS;
  const ask = ["exec", client, "--", "/agnhost", "connect", address, "--timeout=5s"];
  for (;;) {
    const answer = await machine.kubectl(...ask).catch((error: Error) => error.message);
    if (answer === "") return;
    if (performance.now() > deadline) throw new Error(answer);
    await sleep(500);
  }
}
