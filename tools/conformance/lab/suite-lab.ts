/** What every lab has, whichever suite it is for. */
import type { Box } from "../../../test/box/box.ts";
import type { RuncVersion } from "../../../test/box/runc.ts";
import type { GroupSetUp } from "../groups.ts";

/** What a lab is made from. */
export interface LabParts {
  /** Stores of images that the registry serves, that of the suites first. */
  readonly stores: readonly string[];
  /** Programs of the suites, of the cluster and the Go kubelet by name. */
  readonly program: (name: string) => string;
  /** What starts containers; runc of today if absent. */
  readonly runc?: RuncVersion;
  /** The kubelet under test. */
  readonly kubelet: string;
}

/** What the arguments of a suite depend on. */
export interface SuiteFlags extends GroupSetUp {
  /** A few specs of the node suite come sooner to their end when they pull what they need. */
  readonly pullsLater?: boolean;
}

/** A running lab; everything of it goes with it. */
export interface SuiteLab extends AsyncDisposable {
  /** Where the suite runs. */
  readonly box: Box;
  /** Folder with ginkgo and the suite; the same path inside and outside of the box. */
  readonly folder: string;
  /** Name of the suite's program in that folder. */
  readonly suite: string;
  /** The suite's own arguments, when its reports are to go to that folder. */
  suiteArguments(reports: string, flags: SuiteFlags): readonly string[];
  /** Logs that are worth keeping: name to keep it by, and path. */
  logs(): readonly (readonly [name: string, path: string])[];
}
