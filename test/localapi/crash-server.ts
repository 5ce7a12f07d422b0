// The local API in a process of its own, to be killed: crash-server.ts FOLDER; says `ready` on its output.
import { createSystemClock } from "../../src/kit/clock.ts";
import { silentLog } from "../../src/kit/log.ts";
import { createSystemRandom } from "../../src/kit/random.ts";
import { TaskScope } from "../../src/kit/scope.ts";
import { StateFiles } from "../../src/kit/state/state-files.ts";
import { startLocalApi } from "../../src/localapi/localapi.ts";
import { openDatabase } from "../../src/outside/database/database.ts";
import { connectHost } from "../../src/outside/host/connect-host.ts";
import { createListen } from "../../src/outside/net/serve/http-listener.ts";

const folder = process.argv[2] ?? "";
const clock = createSystemClock();
const scope = new TaskScope("local API", { clock, log: silentLog });
const { files, podFiles } = connectHost({ clock, log: silentLog });
await startLocalApi(
  {
    folder: `${folder}/api`,
    volumesFolder: `${folder}/volumes`,
    nodeName: "n1",
    address: { host: "127.0.0.1", port: 0 },
    kubeconfigPath: `${folder}/kubeconfig`,
    versions: { kubernetes: "v1.36.2", nodelet: "0.1.0" },
  },
  {
    clock,
    log: silentLog,
    random: createSystemRandom(),
    files,
    podFiles,
    state: new StateFiles({ files, clock, log: silentLog }),
    listen: createListen(),
    openDatabase,
    scope,
  },
);
process.stdout.write("ready\n");
