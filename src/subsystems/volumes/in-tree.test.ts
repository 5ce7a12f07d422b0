// Persistent volumes of in-tree kinds become those of the drivers that have taken them over.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PersistentVolume } from "../../api/generated/types.ts";
import { translatedVolume } from "./kinds/in-tree.ts";

const csiOf = (pv: PersistentVolume) => translatedVolume(pv).spec?.csi;

test("awsElasticBlockStore: the volume's own name, the partition as an attribute", () => {
  for (const volumeID of ["vol-1", "aws:///vol-1", "aws://us-east-1a/vol-1"])
    assert.deepEqual(
      csiOf({ spec: { awsElasticBlockStore: { volumeID, fsType: "ext4", partition: 3 } } }),
      {
        driver: "ebs.csi.aws.com",
        volumeHandle: "vol-1",
        fsType: "ext4",
        volumeAttributes: { partition: "3" },
      },
    );
});

test("gcePersistentDisk: the zone or region of its label, and one writer or many readers", () => {
  const disk = (zone: string | undefined, accessModes: readonly string[]) =>
    translatedVolume({
      metadata: zone === undefined ? {} : { labels: { "topology.kubernetes.io/zone": zone } },
      spec: { gcePersistentDisk: { pdName: "d" }, accessModes },
    }).spec;
  const handle = (zone?: string) => disk(zone, [])?.csi?.volumeHandle;
  assert.equal(handle(), "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d");
  assert.equal(handle("us-a1-b"), "projects/UNSPECIFIED/zones/us-a1-b/disks/d");
  assert.equal(handle("us-a1-b__us-a1-c"), "projects/UNSPECIFIED/regions/us-a1/disks/d");
  assert.deepEqual(disk("z", ["ReadWriteMany"])?.accessModes, ["ReadWriteOnce"]);
  assert.deepEqual(disk("z", ["ReadOnlyMany"])?.accessModes, ["ReadOnlyMany"]);
  assert.deepEqual(disk("z", [])?.csi?.volumeAttributes, { partition: "" });
});

test("azureDisk: managed ones only", () => {
  const disk = (kind?: string) => ({
    spec: {
      azureDisk: {
        diskName: "d",
        diskURI: "/subscriptions/d",
        cachingMode: "None",
        ...(kind ? { kind } : {}),
      },
    },
  });
  assert.deepEqual(csiOf(disk("Managed")), {
    driver: "disk.csi.azure.com",
    volumeHandle: "/subscriptions/d",
    volumeAttributes: { kind: "Managed", cachingmode: "None" },
  });
  assert.throws(() => csiOf(disk("Dedicated")), /^.*azureDisk.kind Dedicated is not served/);
});

test("azureFile: account and namespace of its secret, by which it is staged", () => {
  const share = (more: object, claimNamespace?: string): PersistentVolume => ({
    metadata: { name: "pv", annotations: { "kubernetes.io/azure-file-resource-group": "rg" } },
    spec: {
      azureFile: { secretName: "azure-storage-account-acc-secret", shareName: "s", ...more },
      ...(claimNamespace ? { claimRef: { namespace: claimNamespace } } : {}),
    },
  });
  assert.deepEqual(csiOf(share({ readOnly: true }, "ns")), {
    driver: "file.csi.azure.com",
    volumeHandle: "rg#acc#s#pv#ns",
    readOnly: true,
    volumeAttributes: { sharename: "s" },
    nodeStageSecretRef: { name: "azure-storage-account-acc-secret", namespace: "ns" },
  });
  assert.equal(
    csiOf(share({ secretName: "key", secretNamespace: "other" }, "ns"))?.volumeHandle,
    "rg#key#s#pv#other",
  );
  assert.throws(() => csiOf(share({})), /azureFile.secretNamespace of the volume pv is missing/);
});

test("cinder, vsphereVolume, portworxVolume", () => {
  assert.deepEqual(csiOf({ spec: { cinder: { volumeID: "c", readOnly: true } } }), {
    driver: "cinder.csi.openstack.org",
    volumeHandle: "c",
    readOnly: true,
    volumeAttributes: {},
  });
  const vsphereVolume = { volumePath: "[ds] a.vmdk", storagePolicyName: "gold" };
  assert.deepEqual(csiOf({ spec: { vsphereVolume } }), {
    driver: "csi.vsphere.vmware.com",
    volumeHandle: "[ds] a.vmdk",
    volumeAttributes: { storagepolicyname: "gold" },
  });
  const annotations = {
    "openstorage.io/auth-secret-name": "s",
    "openstorage.io/auth-secret-namespace": "n",
  };
  const secret = { name: "s", namespace: "n" };
  assert.deepEqual(
    csiOf({ metadata: { annotations }, spec: { portworxVolume: { volumeID: "p" } } }),
    {
      driver: "pxd.portworx.com",
      volumeHandle: "p",
      volumeAttributes: {},
      nodeStageSecretRef: secret,
      nodePublishSecretRef: secret,
      nodeExpandSecretRef: secret,
    },
  );
});

test("what no driver has taken over stays what it is", () => {
  const pv = { spec: { hostPath: { path: "/x" }, accessModes: ["ReadWriteMany"] } };
  assert.equal(translatedVolume(pv), pv);
});
