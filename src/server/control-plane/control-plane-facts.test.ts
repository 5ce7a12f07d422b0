import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../api/generated/types.ts";
import {
  certificateFiles,
  componentOf,
  embeddedCertificates,
  etcdAlarms,
  etcdSizes,
  metricsAddress,
} from "./control-plane-facts.ts";

const ETCD: Pod = {
  metadata: {
    name: "etcd-one",
    namespace: "kube-system",
    labels: { component: "etcd", tier: "control-plane" },
    annotations: { "kubernetes.io/config.source": "file" },
  },
  spec: {
    containers: [
      {
        name: "etcd",
        command: [
          ...["etcd", "--cert-file=/pki/server.crt", "--key-file=/pki/server.key"],
          ...["--trusted-ca-file=/pki/ca.crt", "--peer-trusted-ca-file=/pki/ca.crt"],
          "--listen-metrics-urls=https://10.0.0.1:2381,http://127.0.0.1:2381",
        ],
      },
    ],
  },
};

test("componentOf: static pods of the control plane only", () => {
  assert.deepEqual(componentOf(ETCD), { component: "etcd", pod: "kube-system/etcd-one" });
  const { metadata = {} } = ETCD;
  assert.equal(componentOf({ metadata: { ...metadata, annotations: {} } }), undefined);
  assert.equal(
    componentOf({ metadata: { ...metadata, labels: { component: "etcd" } } }),
    undefined,
  );
});

test("certificateFiles, metricsAddress: what the flags name", () => {
  assert.deepEqual(certificateFiles(ETCD), ["/pki/server.crt", "/pki/ca.crt"]);
  assert.equal(metricsAddress(ETCD), "http://127.0.0.1:2381");
  const scheduler = {
    spec: { containers: [{ name: "s", args: ["--kubeconfig=/e/s.conf", "-v=2"] }] },
  };
  assert.deepEqual(certificateFiles(scheduler), ["/e/s.conf"]);
  assert.equal(metricsAddress(scheduler), undefined);
});

test("embeddedCertificates: those of users, not of authorities", () =>
  assert.deepEqual(
    embeddedCertificates(
      "clusters:\n- cluster:\n    certificate-authority-data: QQ==\nusers:\n- user:\n    client-certificate-data: Qg==\n    client-key-data: Qw==\n",
    ),
    ["Qg=="],
  ));

test("etcdSizes, etcdAlarms: what etcd answers", () => {
  const page = "# TYPE x gauge\netcd_mvcc_db_total_size_in_bytes 2.4576e+07\n";
  assert.deepEqual(etcdSizes(page), { bytes: 24_576_000, quotaBytes: undefined });
  assert.deepEqual(etcdSizes(`${page}etcd_server_quota_backend_bytes 2.147483648e+09\n`), {
    bytes: 24_576_000,
    quotaBytes: 2_147_483_648,
  });
  assert.equal(etcdSizes("up 1\n"), undefined);
  assert.deepEqual(etcdAlarms('{"health":"false","reason":"ALARM NOSPACE"}'), ["NOSPACE"]);
  assert.deepEqual(etcdAlarms('{"health":"true","reason":""}'), []);
});
