/** The API that an agent in a box brings with it, asked from outside of the box. */
import { connect, type Socket } from "node:net";
import type { Box } from "../box/box.ts";
import { type AdminReply, type AdminRequest, adminRequest } from "../kube/admin.ts";
import { accessIn } from "../localapi/local-api.ts";

/** The variables that make an agent bring an API, and where in the box its kubeconfig is. */
export const OWN_API = {
  kubeconfig: "/etc/nodelet/kubeconfig",
  env: (folder: string) => ({
    NODELET_API_FOLDER: folder,
    NODELET_API_KUBECONFIG: OWN_API.kubeconfig,
  }),
};

/** One request with the rights of an administrator; rejects when the API is away. */
export async function askOwnApi(box: Box, request: AdminRequest): Promise<AdminReply> {
  const { server, caPem, identity } = accessIn(box.path(OWN_API.kubeconfig));
  const socketPath = await box.forward(Number(new URL(server).port), "127.0.0.1");
  const dial = () =>
    new Promise<Socket>((resolve, reject) => {
      const socket = connect(socketPath, () => resolve(socket));
      socket.once("error", reject);
    });
  return await adminRequest({ dial, caPem, identity, serverName: "localhost" }, request);
}
