// The client against a real API server.
import { Cell } from "../../src/kit/cell.ts";
import { createSystemClock } from "../../src/kit/clock.ts";
import { silentLog } from "../../src/kit/log.ts";
import { createSystemRandom } from "../../src/kit/random.ts";
import { connectKube } from "../../src/outside/kube/connect-kube.ts";
import { kubeContract } from "../contracts/kube-contract.ts";
import { type ApiServer, apiServerObstacle, startApiServer } from "./apiserver.ts";

export function connectAs(server: ApiServer) {
  const kube = connectKube({
    clock: createSystemClock(),
    random: createSystemRandom(),
    log: silentLog,
    userAgent: "nodelet-test",
  });
  return kube.connect({
    server: server.url,
    authoritiesPem: server.caPem,
    credentials: { identity: new Cell(server.adminIdentity) },
  });
}

kubeContract(
  "kube-apiserver",
  async () => {
    const server = await startApiServer();
    const transport = connectAs(server);
    return {
      transport,
      cut: () => server.restart(),
      close: async () => {
        transport.close();
        await server[Symbol.asyncDispose]();
      },
    };
  },
  { skip: apiServerObstacle() ?? false },
);
