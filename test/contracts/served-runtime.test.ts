// The contract of the runtime against the fake one behind a socket, as the agent reaches it.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createSystemClock } from "../../src/kit/clock.ts";
import { createSeededRandom } from "../../src/kit/random.ts";
import { connectCri } from "../../src/outside/cri/connect-cri.ts";
import { FakeRuntime } from "../sim/fake-runtime.ts";
import { serveRuntime } from "../support/serve-runtime.ts";
import { runtimeContract } from "./runtime-contract.ts";

runtimeContract("fake runtime behind a socket", async () => {
  const folder = await mkdtemp(join(tmpdir(), "nodelet-cri-"));
  const socket = join(folder, "cri.sock");
  const fake = new FakeRuntime(createSystemClock(), createSeededRandom(1), { latencyMs: 20 });
  const listener = await serveRuntime(socket, fake);
  const cri = connectCri({ runtimeEndpoint: `unix://${socket}`, timeoutMs: 60_000 });
  return {
    cri,
    image: "nodelet.test/nodelet-test:1",
    logs: "/var/log/pods",
    run: (work) => work,
    pass: (ms) => sleep(ms),
    [Symbol.asyncDispose]: async () => {
      cri.close();
      await listener.close();
      await rm(folder, { recursive: true });
    },
  };
});
