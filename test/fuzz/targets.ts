import type { FuzzTarget } from "./target.ts";
import { CERTIFICATE_TARGETS } from "./targets/certificates.ts";
import { CONFIG_TARGETS } from "./targets/config.ts";
import { KERNEL_TARGETS } from "./targets/kernel.ts";
import { MESSAGE_TARGETS } from "./targets/messages.ts";
import { OBJECT_TARGETS } from "./targets/objects.ts";
import { STATE_TARGETS } from "./targets/state.ts";
import { TEXT_TARGETS } from "./targets/texts.ts";
import { WIRE_TARGETS } from "./targets/wire.ts";

/** Every decoder that is fed from outside. */
export const TARGETS: readonly FuzzTarget[] = [
  ...TEXT_TARGETS,
  ...OBJECT_TARGETS,
  ...CONFIG_TARGETS,
  ...STATE_TARGETS,
  ...WIRE_TARGETS,
  ...MESSAGE_TARGETS,
  ...CERTIFICATE_TARGETS,
  ...KERNEL_TARGETS,
];
