// The simulated API server keeps what agents rely on, as the real one does.
import { createSystemClock } from "../../src/kit/clock.ts";
import { createSeededRandom } from "../../src/kit/random.ts";
import { kubeContract } from "../contracts/kube-contract.ts";
import { FakeApiServer } from "./fake-apiserver.ts";

kubeContract("simulated API server", async () => {
  const server = new FakeApiServer(createSystemClock(), createSeededRandom(1));
  return {
    transport: server,
    cut: async () => {
      server.goDown();
      server.comeBack();
    },
    close: async () => server.close(),
  };
});

kubeContract("simulated API server that repeats itself", async () => {
  const server = new FakeApiServer(createSystemClock(), createSeededRandom(2), { duplicates: 0.5 });
  return {
    transport: server,
    cut: async () => server.cutWatches(),
    close: async () => server.close(),
  };
});
