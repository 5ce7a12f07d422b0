// The local API keeps what a real API server keeps; the same suite examines both.
import { apiContract } from "../contracts/api-contract.ts";
import { apiRulesContract } from "../contracts/api-rules-contract.ts";
import { kubeContract } from "../contracts/kube-contract.ts";
import { LOCAL_API, startLocal } from "./local-api.ts";

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

apiContract(LOCAL_API);
apiRulesContract(LOCAL_API);
