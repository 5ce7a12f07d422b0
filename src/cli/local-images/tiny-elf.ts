/**
 * Two small facts about ELF files: whether one needs no dynamic loader, and how to write a complete
 * program of a few bytes.
 */

const PROGRAM_INTERPRETER = 3;

/** True for a 64-bit little-endian executable without a dynamic loader. */
export function isStaticElf(file: Uint8Array): boolean {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  if (file.length < 64 || view.getUint32(0) !== 0x7f454c46 || file[4] !== 2) return false;
  const tableAt = Number(view.getBigUint64(32, true));
  const entryBytes = view.getUint16(54, true);
  const count = view.getUint16(56, true);
  for (let i = 0; i < count; i++)
    if (view.getUint32(tableAt + i * entryBytes, true) === PROGRAM_INTERPRETER) return false;
  return true;
}

/**
 * `pause` for x86-64, 207 bytes: ignores SIGCHLD, so that the kernel reaps what the pod's containers orphan, then
 * waits for SIGINT or SIGTERM and exits. They are blocked, since the kernel hides them from a first process otherwise.
 * Undefined for another architecture.
 */
export function pauseProgram(architecture: string): Uint8Array | undefined {
  if (architecture !== "amd64") return undefined;
  // biome-ignore format: one instruction a line
  const code = Uint8Array.of(
    0x48, 0x81, 0xec, 0xa0, 0, 0, 0,          // sub  $160, %rsp
    0x48, 0x89, 0xe7,                         // mov  %rsp, %rdi
    0x31, 0xc0,                               // xor  %eax, %eax
    0xb9, 0x14, 0, 0, 0,                      // mov  $20, %ecx
    0xfc,                                     // cld
    0xf3, 0x48, 0xab,                         // rep stos %rax, (%rdi)      an empty struct sigaction
    0x48, 0xc7, 0x04, 0x24, 1, 0, 0, 0,       // movq $SIG_IGN, (%rsp)
    0x6a, 0x11, 0x5f,                         // rdi = SIGCHLD
    0x48, 0x8d, 0x34, 0x24,                   // lea  (%rsp), %rsi
    0x31, 0xd2,                               // xor  %edx, %edx
    0x6a, 0x08, 0x41, 0x5a,                   // r10 = sizeof(sigset_t)
    0x6a, 0x0d, 0x58, 0x0f, 0x05,             // rt_sigaction
    0x48, 0xc7, 0x04, 0x24, 2, 0x40, 0, 0,    // movq $0x4002, (%rsp)       SIGINT and SIGTERM
    0x31, 0xff,                               // rdi = SIG_BLOCK
    0x6a, 0x0e, 0x58, 0x0f, 0x05,             // rt_sigprocmask
    0x48, 0x89, 0xe7,                         // rdi = the two
    0x31, 0xf6,                               // xor  %esi, %esi
    0x31, 0xd2,                               // xor  %edx, %edx
    0xb8, 128, 0, 0, 0, 0x0f, 0x05,           // rt_sigtimedwait
    0x85, 0xc0,                               // test %eax, %eax
    0x78, 0xee,                               // interrupted: again
    0x31, 0xff,                               // xor  %edi, %edi
    0x6a, 0x3c, 0x58, 0x0f, 0x05,             // exit
  );
  return executable(code);
}

/** An x86-64 executable whose only segment is the header and `code`. */
function executable(code: Uint8Array): Uint8Array {
  const headerBytes = 64 + 56;
  const base = 0x400000n;
  const file = new Uint8Array(headerBytes + code.length);
  const view = new DataView(file.buffer);
  file.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  view.setUint16(16, 2, true);
  view.setUint16(18, 62, true);
  view.setUint32(20, 1, true);
  view.setBigUint64(24, base + BigInt(headerBytes), true);
  view.setBigUint64(32, 64n, true);
  view.setUint16(52, 64, true);
  view.setUint16(54, 56, true);
  view.setUint16(56, 1, true);
  view.setUint32(64, 1, true);
  view.setUint32(68, 5, true);
  view.setBigUint64(80, base, true);
  view.setBigUint64(88, base, true);
  view.setBigUint64(96, BigInt(file.length), true);
  view.setBigUint64(104, BigInt(file.length), true);
  view.setBigUint64(112, 4096n, true);
  file.set(code, headerBytes);
  return file;
}
