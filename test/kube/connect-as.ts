import { Cell } from "../../src/kit/cell.ts";
import { createSystemClock } from "../../src/kit/clock.ts";
import { silentLog } from "../../src/kit/log.ts";
import { createSystemRandom } from "../../src/kit/random.ts";
import { connectKube } from "../../src/outside/kube/connect-kube.ts";
import type { ApiTransport } from "../../src/outside/kube/kube.ts";
import type { ApiServer } from "./apiserver.ts";

/** The client under test, speaking to the server as an administrator or as somebody else. */
export function connectAs(server: ApiServer, identity = server.adminIdentity): ApiTransport {
  const kube = connectKube({
    clock: createSystemClock(),
    random: createSystemRandom(),
    log: silentLog,
    userAgent: "nodelet-test",
  });
  return kube.connect({
    server: server.url,
    authoritiesPem: server.caPem,
    credentials: { identity: new Cell(identity) },
  });
}
