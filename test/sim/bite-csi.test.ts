// Guards of volumes of CSI drivers. What a driver gave no answer to is the call table 7 of its lives.
import { type Guard, testGuards } from "./bite.ts";

const MODULE = "src/subsystems/csi";
const GUARDS: readonly Guard[] = [
  {
    name: "a volume is unpublished from all pods before it is unstaged",
    file: `${MODULE}/node-volumes.ts`,
    line: "=> pods.size === 0 && wanted.size === 0;",
    without: "=> wanted.size === 0;",
  },
  {
    name: "a volume is unstaged before it may be detached",
    file: `${MODULE}/node-volumes.ts`,
    line: 'if (volume.device === "none") {',
    without: "if (volume.pods.size === 0) {",
  },
  {
    name: "what was staged before a restart may be staged still",
    file: `${MODULE}/found-volumes.ts`,
    line: 'volumeOf(found, "", data, false).device = "uncertain";',
    without: "",
  },
  {
    name: "which volume it is stands in the pod's folder before the driver publishes it",
    file: `${MODULE}/steps/publish-volume.ts`,
    line: "await writeVolumeData(files, data, podData(order, cluster));",
    without: "",
  },
].map((guard) => ({ ...guard, play: "play-csi.ts" }));

testGuards(GUARDS);
