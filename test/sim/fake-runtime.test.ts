import { createSeededRandom } from "../../src/kit/random.ts";
import { runtimeContract } from "../contracts/runtime-contract.ts";
import { FakeRuntime } from "./fake-runtime.ts";
import { SimClock } from "./sim-clock.ts";

runtimeContract("fake runtime", async () => {
  const clock = new SimClock();
  const cri = new FakeRuntime(clock, createSeededRandom(1), { latencyMs: 20 });
  return {
    cri,
    image: "nodelet.test/nodelet-test:1",
    logs: "/var/log/pods",
    run: async (work) => {
      let done = false;
      const finish = () => {
        done = true;
      };
      work.then(finish, finish);
      await clock.runUntil(() => done, 600_000);
      return work;
    },
    pass: (ms) => clock.advance(ms),
    [Symbol.asyncDispose]: async () => {},
  };
});
