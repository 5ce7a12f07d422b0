// The local API keeps what a real API server keeps; the same suite examines both.
import { apiContract } from "../contracts/api-contract.ts";
import { apiRulesContract } from "../contracts/api-rules-contract.ts";
import { kubeContract } from "../contracts/kube-contract.ts";
import { startLocal } from "./local-api.ts";

kubeContract("local API", async () => {
  const server = await startLocal();
  const transport = server.connect();
  return {
    transport,
    cut: () => server.restart(),
    close: async () => {
      transport.close();
      await server[Symbol.asyncDispose]();
    },
  };
});

const local = {
  name: "local API",
  start: async () => {
    const server = await startLocal();
    return {
      request: (order: Parameters<typeof server.request>[0]) => server.request(order),
      close: () => server[Symbol.asyncDispose](),
    };
  },
} as const;

apiContract(local);
apiRulesContract(local);
