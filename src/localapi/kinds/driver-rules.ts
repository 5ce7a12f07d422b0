// pure

import { invalid, required, unsupported } from "../../api/decode/field-problem.ts";
import { isSame } from "../../api/decode/strategic-diff.ts";
import type { CSIDriver, VolumeAttachment } from "../../api/generated/types.ts";
import { as } from "../api-object.ts";
import type { KindRules } from "../kind.ts";

const MODES = ["Persistent", "Ephemeral"];
const GROUP_POLICIES = ["ReadWriteOnceWithFSType", "File", "None"];
const MIN_PERIOD_SECONDS = 10;

/** Rules of the API for CSI drivers. */
export const CSI_DRIVER_RULES: KindRules = {
  warn: (object) =>
    as<CSIDriver>(object).spec.attachRequired === false
      ? []
      : [
          "nothing attaches volumes here: set spec.attachRequired to false, or make VolumeAttachments and the node's volumesAttached yourself",
        ],
  complete: (object) => {
    const { spec } = as<CSIDriver>(object);
    return {
      ...object,
      spec: {
        attachRequired: true,
        podInfoOnMount: false,
        storageCapacity: false,
        fsGroupPolicy: "ReadWriteOnceWithFSType",
        volumeLifecycleModes: ["Persistent"],
        requiresRepublish: false,
        seLinuxMount: false,
        ...spec,
      },
    };
  },
  validate: (object) => {
    const {
      volumeLifecycleModes = [],
      fsGroupPolicy,
      nodeAllocatableUpdatePeriodSeconds: period,
    } = as<CSIDriver>(object).spec;
    return [
      ...volumeLifecycleModes.flatMap((mode, at) =>
        MODES.includes(mode) ? [] : [unsupported(`spec.volumeLifecycleModes[${at}]`, mode, MODES)],
      ),
      ...(fsGroupPolicy === undefined || GROUP_POLICIES.includes(fsGroupPolicy)
        ? []
        : [unsupported("spec.fsGroupPolicy", fsGroupPolicy, GROUP_POLICIES)]),
      ...(period === undefined || period >= MIN_PERIOD_SECONDS
        ? []
        : [
            invalid(
              "spec.nodeAllocatableUpdatePeriodSeconds",
              period,
              `must be greater than or equal to ${MIN_PERIOD_SECONDS} seconds`,
            ),
          ]),
    ];
  },
};

/** Rules of the API for what is attached to nodes. */
export const VOLUME_ATTACHMENT_RULES: KindRules = {
  begin: (object) => ({ ...object, status: { attached: false } }),
  validate: (object) => {
    const { attacher, nodeName, source } = as<VolumeAttachment>(object).spec;
    const hasSource =
      source?.persistentVolumeName !== undefined || source?.inlineVolumeSpec !== undefined;
    return [
      ...(attacher === "" ? [required("spec.attacher")] : []),
      ...(nodeName === "" ? [required("spec.nodeName")] : []),
      ...(hasSource
        ? []
        : [
            required(
              "spec.source",
              "must specify exactly one of inlineVolumeSpec and persistentVolumeName",
            ),
          ]),
    ];
  },
  validateChange: (now, before) =>
    isSame(as<VolumeAttachment>(now).spec, as<VolumeAttachment>(before).spec)
      ? []
      : [invalid("spec", as<VolumeAttachment>(now).spec, "field is immutable")],
};
