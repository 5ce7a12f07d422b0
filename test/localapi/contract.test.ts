// The local API keeps what a real API server keeps; the same suite examines both.
import { apiContract } from "../contracts/api-contract.ts";
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

apiContract("local API", async () => {
  const server = await startLocal();
  return {
    request: (order) => server.request(order),
    close: () => server[Symbol.asyncDispose](),
  };
});
