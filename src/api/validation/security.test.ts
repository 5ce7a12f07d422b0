import assert from "node:assert/strict";
import { test } from "node:test";
import { sysctlNamespace } from "./security.ts";

test("the namespace of a sysctl, however it is written", () => {
  assert.equal(sysctlNamespace("net.core.somaxconn"), "net");
  assert.equal(sysctlNamespace("net/ipv4/conf/eth0.1/forwarding"), "net");
  assert.equal(sysctlNamespace("kernel.shmmax"), "ipc");
  assert.equal(sysctlNamespace("kernel/shm_rmid_forced"), "ipc");
  assert.equal(sysctlNamespace("kernel.msgmax"), "ipc");
  assert.equal(sysctlNamespace("kernel.sem"), "ipc");
  assert.equal(sysctlNamespace("fs.mqueue.queues_max"), "ipc");
  assert.equal(sysctlNamespace("kernel.domainname"), "uts");
  assert.equal(sysctlNamespace("kernel.hostname"), undefined);
  assert.equal(sysctlNamespace("user.max_user_namespaces"), "user");
  assert.equal(sysctlNamespace("user/max_inotify_watches"), "user");
  assert.equal(sysctlNamespace("username.x"), undefined);
  assert.equal(sysctlNamespace("network.x"), undefined);
  assert.equal(sysctlNamespace("vm.swappiness"), undefined);
});
