// The client against a real API server.
import { kubeContract } from "../contracts/kube-contract.ts";
import { apiServerObstacle, startApiServer } from "./apiserver.ts";
import { connectAs } from "./connect-as.ts";

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
