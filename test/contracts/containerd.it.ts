// The contract of the runtime against real containerd, in a box of its own.
import { setTimeout as sleep } from "node:timers/promises";
import { connectCri } from "../../src/outside/cri/connect-cri.ts";
import { startBox } from "../box/box.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { runtimeContract } from "./runtime-contract.ts";

for (const containerd of ["machine", "1.7", "2.1"] as const) {
  runtimeContract(`containerd ${containerd}`, async () => {
    const box = await startBox({ containerd });
    const cri = connectCri({ runtimeEndpoint: `unix://${box.criSocket}`, timeoutMs: 60_000 });
    return {
      cri,
      image: TEST_IMAGE,
      logs: "/var/log/pods",
      run: (work) => work,
      pass: (ms) => sleep(ms),
      [Symbol.asyncDispose]: async () => {
        cri.close();
        await box[Symbol.asyncDispose]();
      },
    };
  });
}
