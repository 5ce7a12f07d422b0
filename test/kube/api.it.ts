// What the local API keeps, a real API server keeps too: where they differ, the real one is right.
import { apiContract } from "../contracts/api-contract.ts";
import { apiRulesContract } from "../contracts/api-rules-contract.ts";
import { apiServerObstacle, startApiServer } from "./apiserver.ts";

const real = {
  name: "kube-apiserver",
  start: async () => {
    const server = await startApiServer();
    return {
      request: (request: Parameters<typeof server.request>[0]) => server.request(request),
      close: () => server[Symbol.asyncDispose](),
    };
  },
  skip: apiServerObstacle() ?? false,
} as const;

apiContract(real);
apiRulesContract(real);
