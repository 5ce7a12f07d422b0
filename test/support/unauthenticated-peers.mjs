// Connections of somebody who proves nothing, all kept open. Arguments: kind, host, port, number. Says
// `{"open":n,"closed":n}` on a line of its own four times a second; ends with its standard input.
//   headers       HTTP/1, 1 MiB of headers that never end
//   sessions      HTTP/2, no stream is ever opened
//   continuation  HTTP/2, one stream with 1 MiB of CONTINUATION frames
import { connect } from "node:tls";

const [kind, host, port, number] = process.argv.slice(2);
const MIB = 1024 * 1024;
const BLOCK = 8 * 1024;
const count = { open: 0, closed: 0 };

const frame = (type, flags, stream, payload) => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
};
const PREFACE = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  frame(4, 0, 0, Buffer.alloc(0)),
]);
/** A header of HPACK that is not kept: its name is one letter, its value fills the block. */
const literal = Buffer.concat([
  Buffer.from([0, 1, 97, 0x7f]),
  varint(BLOCK - 127),
  Buffer.alloc(BLOCK, 98),
]);

function varint(value) {
  const bytes = [];
  let left = value;
  for (; left >= 128; left >>= 7) bytes.push((left & 127) | 128);
  return Buffer.from([...bytes, left]);
}

const KINDS = {
  headers: {
    protocol: "http/1.1",
    first: Buffer.from("GET /pods HTTP/1.1\r\nHost: x\r\n"),
    more: Buffer.from(`X-A: ${"y".repeat(BLOCK - 8)}\r\n`),
  },
  sessions: { protocol: "h2", first: PREFACE },
  continuation: {
    protocol: "h2",
    first: Buffer.concat([PREFACE, frame(1, 0, 1, Buffer.from([0x82, 0x84, 0x87]))]),
    more: frame(9, 0, 1, literal),
  },
};

const { protocol, first, more } = KINDS[kind];
for (let i = 0; i < Number(number); i += 1) {
  const socket = connect({
    host,
    port: Number(port),
    rejectUnauthorized: false,
    ALPNProtocols: [protocol],
  });
  socket.once("secureConnect", () => {
    count.open += 1;
    socket.write(first);
    let sent = 0;
    const send = () => {
      while (more && sent < MIB && !socket.destroyed) {
        sent += more.length;
        if (!socket.write(more)) return void socket.once("drain", send);
      }
    };
    send();
  });
  socket.resume();
  socket.on("error", () => {});
  socket.on("close", () => {
    count.closed += 1;
  });
}
setInterval(() => console.log(JSON.stringify(count)), 250);
process.stdin.resume().on("close", () => process.exit());
