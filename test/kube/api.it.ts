// What the local API keeps, a real API server keeps too: where they differ, the real one is right.
import { apiContract } from "../contracts/api-contract.ts";
import { apiServerObstacle, startApiServer } from "./apiserver.ts";

apiContract(
  "kube-apiserver",
  async () => {
    const server = await startApiServer();
    return {
      request: (order) => server.request(order),
      close: () => server[Symbol.asyncDispose](),
    };
  },
  { skip: apiServerObstacle() ?? false },
);
