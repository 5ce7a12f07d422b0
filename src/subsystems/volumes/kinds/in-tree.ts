// pure
import type { CSIPersistentVolumeSource, PersistentVolume } from "../../../api/generated/types.ts";
import { wrong } from "../../../api/volume-step.ts";

type Spec = NonNullable<PersistentVolume["spec"]>;
type Csi = CSIPersistentVolumeSource;
type Texts = Record<string, string>;

/** Joins several zones in the label of a regional disk. */
const ZONES = "__";
const RESOURCE_GROUP = "kubernetes.io/azure-file-resource-group";
const PORTWORX_SECRET = "openstorage.io/auth-secret-";
const ZONE_LABELS = ["topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"];

/**
 * A persistent volume of a kind that CSI drivers have taken over, as the driver's (csi-translation-lib); any other stays
 * what it is. The node affinity stays in the words of the volume. Throws what the volume's author is to correct.
 */
export function translatedVolume(pv: PersistentVolume): PersistentVolume {
  const { spec } = pv;
  if (!spec || spec.csi) return pv;
  const csi = sourceOf(pv, spec);
  if (!csi) return pv;
  const { accessModes = [] } = spec;
  return {
    ...pv,
    spec: {
      ...spec,
      csi,
      accessModes: spec.gcePersistentDisk ? diskModes(accessModes) : accessModes,
    },
  };
}

function sourceOf(pv: PersistentVolume, spec: Spec): Csi | undefined {
  const { awsElasticBlockStore, gcePersistentDisk, azureDisk, azureFile, cinder } = spec;
  const { vsphereVolume, portworxVolume } = spec;
  if (awsElasticBlockStore) {
    const { volumeID, partition } = awsElasticBlockStore;
    return made("ebs.csi.aws.com", lastPart(volumeID), awsElasticBlockStore, {
      ...(partition ? { partition: String(partition) } : {}),
    });
  }
  if (gcePersistentDisk) {
    const { pdName, partition } = gcePersistentDisk;
    const handle = `projects/UNSPECIFIED/${placeOf(pv)}/disks/${pdName}`;
    return made("pd.csi.storage.gke.io", handle, gcePersistentDisk, {
      partition: partition ? String(partition) : "",
    });
  }
  if (azureDisk) return ofAzureDisk(azureDisk);
  if (azureFile) return ofAzureFile(pv, azureFile);
  if (cinder) return made("cinder.csi.openstack.org", cinder.volumeID, cinder, {});
  if (vsphereVolume) {
    const { volumePath, storagePolicyName, fsType } = vsphereVolume;
    return made("csi.vsphere.vmware.com", volumePath, fsType === undefined ? {} : { fsType }, {
      ...(storagePolicyName ? { storagepolicyname: storagePolicyName } : {}),
    });
  }
  return portworxVolume && ofPortworx(pv, portworxVolume);
}

function made(
  driver: string,
  volumeHandle: string,
  { fsType, readOnly }: { readonly fsType?: string; readonly readOnly?: boolean },
  volumeAttributes: Texts,
): Csi {
  return {
    driver,
    volumeHandle,
    volumeAttributes,
    ...(fsType === undefined ? {} : { fsType }),
    ...(readOnly === undefined ? {} : { readOnly }),
  };
}

/** `aws://zone/vol-x` names the volume `vol-x`. */
const lastPart = (id: string): string =>
  id.startsWith("aws://") ? id.slice(id.lastIndexOf("/") + 1) : id;

/** Where a disk is: in a zone, or in the region of several. */
function placeOf({ metadata }: PersistentVolume): string {
  const zone = ZONE_LABELS.map((label) => metadata?.labels?.[label]).find(Boolean);
  const [first = "UNSPECIFIED", ...others] = zone?.split(ZONES) ?? [];
  return others.length === 0
    ? `zones/${first}`
    : `regions/${first.slice(0, first.lastIndexOf("-"))}`;
}

/** A disk is written by one node, or read by many. */
function diskModes(modes: readonly string[]): readonly string[] {
  if (modes.length > 0 && modes.every((mode) => mode === "ReadOnlyMany")) return ["ReadOnlyMany"];
  return ["ReadWriteOnce"];
}

function ofAzureDisk({
  diskURI,
  kind,
  cachingMode,
  fsType,
  readOnly,
}: NonNullable<Spec["azureDisk"]>): Csi {
  if (kind !== undefined && kind !== "Managed")
    throw wrong(`azureDisk.kind ${kind} is not served by disk.csi.azure.com: only Managed is`);
  const own = {
    ...(fsType === undefined ? {} : { fsType }),
    ...(readOnly === undefined ? {} : { readOnly }),
  };
  return made("disk.csi.azure.com", diskURI, own, {
    kind: "Managed",
    ...(cachingMode ? { cachingmode: cachingMode } : {}),
    ...(fsType ? { fstype: fsType } : {}),
  });
}

function ofAzureFile(pv: PersistentVolume, source: NonNullable<Spec["azureFile"]>): Csi {
  const { secretName, shareName, readOnly } = source;
  const name = pv.metadata?.name ?? "";
  const namespace = source.secretNamespace || pv.spec?.claimRef?.namespace;
  if (!namespace)
    throw wrong(
      `azureFile.secretNamespace of the volume ${name} is missing: name the namespace of the secret ${secretName}`,
    );
  const account = /^azure-storage-account-(.+)-secret$/.exec(secretName)?.[1] ?? secretName;
  const group = pv.metadata?.annotations?.[RESOURCE_GROUP] ?? "";
  const handle = [group, account, shareName, name, namespace].join("#");
  return {
    ...made("file.csi.azure.com", handle, readOnly === undefined ? {} : { readOnly }, {
      sharename: shareName,
    }),
    nodeStageSecretRef: { name: secretName, namespace },
  };
}

function ofPortworx(pv: PersistentVolume, source: NonNullable<Spec["portworxVolume"]>): Csi {
  const { annotations = {} } = pv.metadata ?? {};
  const name = annotations[`${PORTWORX_SECRET}name`];
  const namespace = annotations[`${PORTWORX_SECRET}namespace`];
  const { fsType, volumeID } = source;
  const csi = made("pxd.portworx.com", volumeID, fsType === undefined ? {} : { fsType }, {});
  if (!name || !namespace) return csi;
  const secret = { name, namespace };
  return {
    ...csi,
    nodeStageSecretRef: secret,
    nodePublishSecretRef: secret,
    nodeExpandSecretRef: secret,
  };
}
