// Static pods of a URL: they outlive restarts of the agent while the URL does not answer, and follow what it says.
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Box, withBox } from "../box/box.ts";
import { BoxedAgent, type Manifest, manifest } from "../support/agent.ts";

const FILE = "/etc/nodelet/pods.json";
const PORT = 18_080;
const CONFIG = `staticPodURL: http://127.0.0.1:${PORT}/pods\nhttpCheckFrequency: 1s`;
/** Serves the file, else 404. */
const SERVER = `
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
createServer((_, response) => {
  try {
    response.end(readFileSync("${FILE}"));
  } catch {
    response.writeHead(404).end("not found");
  }
}).listen(${PORT}, "127.0.0.1");
`;

/** What the URL answers; the file is made first, as the agent's folder is not there yet. */
function serve(box: Box, pods: readonly Manifest[] | string): void {
  const list = { apiVersion: "v1", kind: "PodList", items: pods };
  box.write(FILE, typeof pods === "string" ? pods : JSON.stringify(list));
}

const startServer = (box: Box) =>
  box.spawnLogged("manifests", [process.execPath, "--input-type=module", "-e", SERVER], {});

const idOf = (agent: BoxedAgent) => agent.status()?.containerStatuses?.[0]?.containerID;
const errors = (agent: BoxedAgent, text: string) => agent.log().split(text).length - 1;

test("pods of a URL run on while it does not answer, over restarts, and go when it names none", () =>
  withBox({}, async (box) => {
    serve(box, [manifest("served")]);
    const server = startServer(box);
    const agent = await BoxedAgent.start(box, { config: CONFIG });
    await agent.untilReady();
    const id = idOf(agent);

    await agent.kill();
    rmSync(box.path(FILE));
    await agent.start();
    await agent.until("the answer 404 is noticed", () => errors(agent, "returned status 404") > 0);
    await sleep(3_000);
    await agent.kill();
    serve(box, "<html>maintenance</html>");
    await agent.start();
    await agent.until("the page is noticed", () => errors(agent, "expected a Pod or PodList") > 0);
    await agent.kill();
    await server.kill("SIGKILL");
    await agent.start();
    await agent.until("nobody answers", () => errors(agent, "connection refused") > 0);
    await sleep(3_000);
    startServer(box);
    serve(box, [manifest("served")]);
    await agent.untilReady();
    await sleep(2_000);
    assert.equal(idOf(agent), id, "the container is the one from before the restarts");
    const kills = agent.decisions().filter(({ kind }) => kind === "killPod");
    assert.deepEqual(kills, []);

    serve(box, "");
    await agent.until("the pod is gone", () => agent.statuses().size === 0);
    serve(box, [manifest("served")]);
    await agent.untilReady();
    serve(box, []);
    await agent.until("the pod is gone again", () => agent.statuses().size === 0);
  }));
