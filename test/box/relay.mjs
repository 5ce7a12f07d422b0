// Runs inside a box: whoever connects to the socket `path` is connected to a TCP address of the box.
// Arguments: path, host, port. Says `ready` when it listens.
import { connect, createServer } from "node:net";

const [path, host, port] = process.argv.slice(2);
const server = createServer({ allowHalfOpen: true }, (near) => {
  const far = connect({ host, port: Number(port), allowHalfOpen: true });
  near.pipe(far).pipe(near);
  near.on("error", () => far.destroy());
  far.on("error", () => near.destroy());
});
server.listen(path, () => console.log("ready"));
