/**
 * A file system in user space that does not answer when asked not to: `node server.ts MOUNT_POINT`, then one word a
 * line on standard input: `answer`, `hang` or `fail` (EIO). Says `ready` when mounted. When the process ends,
 * the kernel fails all that wait. Shows a folder with one file (include/uapi/linux/fuse.h).
 */
import { spawnSync } from "node:child_process";
import { openSync, read, writeSync } from "node:fs";
import { createInterface } from "node:readline";

const Opcode = {
  LOOKUP: 1,
  FORGET: 2,
  GETATTR: 3,
  OPEN: 14,
  READ: 15,
  STATFS: 17,
  RELEASE: 18,
  FLUSH: 25,
  INIT: 26,
  OPENDIR: 27,
  READDIR: 28,
  RELEASEDIR: 29,
  ACCESS: 34,
  INTERRUPT: 36,
  DESTROY: 38,
  BATCH_FORGET: 42,
} as const;

const [ENOENT, EIO, ENOSYS] = [2, 5, 38];
const HEADER_BYTES = 40;
const ROOT_NODE = 1n;
const FILE_NODE = 2n;
const FILE = { name: "file", content: Buffer.from("hello\n") };
const KERNEL_MINOR_KNOWN = 31;

interface Request {
  readonly opcode: number;
  readonly unique: bigint;
  readonly node: bigint;
  readonly body: Buffer;
}

type Mode = "answer" | "hang" | "fail";

const mountPoint = process.argv[2] ?? "";
const device = openSync("/dev/fuse", "r+");
const waiting: Request[] = [];
let mode: Mode = "answer";

const options = "fd=3,rootmode=40000,user_id=0,group_id=0,allow_other";
const mounted = spawnSync(
  "mount",
  ["-i", "-c", "-n", "-t", "fuse", "-o", options, "testfs", mountPoint],
  { stdio: ["ignore", "inherit", "inherit", device] },
);
if (mounted.status !== 0) process.exit(1);
receive();
process.stdout.write("ready\n");

createInterface(process.stdin)
  .on("line", (line) => {
    mode = line as Mode;
    if (mode !== "hang") for (const request of waiting.splice(0)) reply(request);
    process.stdout.write(`${line}\n`);
  })
  .on("close", () => process.exit(0));

function receive(): void {
  const buffer = Buffer.alloc(256 * 1024);
  read(device, buffer, 0, buffer.length, null, (error, bytes) => {
    // The mount is gone.
    if (error?.code === "ENODEV") process.exit(0);
    if (!error) take(buffer.subarray(0, bytes));
    receive();
  });
}

function take(bytes: Buffer): void {
  const request: Request = {
    opcode: bytes.readUInt32LE(4),
    unique: bytes.readBigUInt64LE(8),
    node: bytes.readBigUInt64LE(16),
    body: bytes.subarray(HEADER_BYTES),
  };
  const { opcode } = request;
  const unanswered: readonly number[] = [Opcode.FORGET, Opcode.BATCH_FORGET, Opcode.INTERRUPT];
  if (unanswered.includes(opcode)) return;
  if (mode === "hang" && opcode !== Opcode.INIT) waiting.push(request);
  else reply(request);
}

function reply(request: Request): void {
  const isFailing = mode === "fail" && request.opcode !== Opcode.INIT;
  const result = isFailing ? EIO : answerTo(request);
  const body = typeof result === "number" ? Buffer.alloc(0) : result;
  const header = Buffer.alloc(16);
  header.writeUInt32LE(header.length + body.length, 0);
  header.writeInt32LE(typeof result === "number" ? -result : 0, 4);
  header.writeBigUInt64LE(request.unique, 8);
  try {
    writeSync(device, Buffer.concat([header, body]));
  } catch {
    // Whoever asked is gone.
  }
}

/** The body of the reply, or an error number. */
function answerTo({ opcode, node, body }: Request): Buffer | number {
  switch (opcode) {
    case Opcode.INIT:
      return initReply(body);
    case Opcode.LOOKUP:
      return nameOf(body) === FILE.name ? entryOf(FILE_NODE) : ENOENT;
    case Opcode.GETATTR:
      return Buffer.concat([Buffer.alloc(16), attributesOf(node)]);
    case Opcode.OPEN:
    case Opcode.OPENDIR:
      return Buffer.alloc(16);
    case Opcode.READ:
      return sliceFrom(FILE.content, body);
    case Opcode.READDIR:
      return sliceFrom(listing(), body);
    case Opcode.STATFS:
      return statfsReply();
    case Opcode.RELEASE:
    case Opcode.RELEASEDIR:
    case Opcode.FLUSH:
    case Opcode.ACCESS:
    case Opcode.DESTROY:
      return Buffer.alloc(0);
    default:
      return ENOSYS;
  }
}

function initReply(body: Buffer): Buffer {
  const reply = Buffer.alloc(64);
  reply.writeUInt32LE(7, 0);
  reply.writeUInt32LE(Math.min(body.readUInt32LE(4), KERNEL_MINOR_KNOWN), 4);
  reply.writeUInt32LE(body.readUInt32LE(8), 8);
  reply.writeUInt32LE(64 * 1024, 20);
  return reply;
}

function nameOf(body: Buffer): string {
  return body.toString("utf8", 0, body.indexOf(0));
}

/** Nothing is kept by the kernel: every access asks again. */
function entryOf(node: bigint): Buffer {
  const entry = Buffer.alloc(40);
  entry.writeBigUInt64LE(node, 0);
  return Buffer.concat([entry, attributesOf(node)]);
}

function attributesOf(node: bigint): Buffer {
  const attributes = Buffer.alloc(88);
  attributes.writeBigUInt64LE(node, 0);
  attributes.writeBigUInt64LE(BigInt(node === ROOT_NODE ? 0 : FILE.content.length), 8);
  attributes.writeUInt32LE(node === ROOT_NODE ? 0o040755 : 0o100644, 60);
  attributes.writeUInt32LE(node === ROOT_NODE ? 2 : 1, 64);
  attributes.writeUInt32LE(4096, 80);
  return attributes;
}

/** What a read or a listing gets of `content`: from its offset, at most as much as it asks for. */
function sliceFrom(content: Buffer, body: Buffer): Buffer {
  const offset = Number(body.readBigUInt64LE(8));
  return content.subarray(offset, offset + body.readUInt32LE(16));
}

function listing(): Buffer {
  const name = Buffer.from(FILE.name);
  const entry = Buffer.alloc(24 + Math.ceil(name.length / 8) * 8);
  entry.writeBigUInt64LE(FILE_NODE, 0);
  entry.writeBigUInt64LE(BigInt(entry.length), 8);
  entry.writeUInt32LE(name.length, 16);
  entry.writeUInt32LE(8, 20);
  name.copy(entry, 24);
  return entry;
}

function statfsReply(): Buffer {
  const reply = Buffer.alloc(80);
  for (const at of [0, 8, 16, 24, 32]) reply.writeBigUInt64LE(1000n, at);
  reply.writeUInt32LE(4096, 40);
  reply.writeUInt32LE(255, 44);
  reply.writeUInt32LE(4096, 48);
  return reply;
}
