/**
 * Chooses which of several sockets that listen on one port gets the new connections. Linux spreads connections over
 * such sockets (SO_REUSEPORT) unless a filter program says which one takes them (SO_ATTACH_REUSEPORT_CBPF, socket(7)).
 * The option is set through the C library: neither Bun nor a package of npm does it.
 */
import { readdirSync } from 'node:fs'
import { addressOf, openLibc } from '../runtime/libc'

const SOL_SOCKET = 1
const SO_ACCEPTCONN = 30
const SO_ATTACH_REUSEPORT_CBPF = 51
/** BPF_RET | BPF_K: the program returns a constant. */
const RETURN_CONSTANT = 6

/** The descriptors of this process that listen; none on other systems than Linux. */
export function listeningSockets(): number[] {
  if (process.platform !== 'linux') return []
  const { getsockopt } = libc()
  return readdirSync('/proc/self/fd')
    .map(Number)
    .filter((descriptor) => {
      const value = new Int32Array(1)
      const size = new Uint32Array([value.byteLength])
      return (
        getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, addressOf(value), addressOf(size)) === 0 && value[0] === 1
      )
    })
}

/**
 * Gives all new connections of a port to one of its sockets.
 * @param descriptor any socket that listens on the port with SO_REUSEPORT
 * @param index place of the chosen socket, in the order in which they began to listen. When one closes, the last one
 *   gets
 *   its place
 * @returns false when the system cannot do that
 */
export function steerConnections(descriptor: number, index: number): boolean {
  if (process.platform !== 'linux') return false
  const instruction = new DataView(new ArrayBuffer(8))
  instruction.setUint16(0, RETURN_CONSTANT, true)
  instruction.setUint32(4, index, true)
  // struct sock_fprog: the number of instructions, and their address at an offset of 8.
  const program = new DataView(new ArrayBuffer(16))
  program.setUint16(0, 1, true)
  program.setBigUint64(8, BigInt(addressOf(instruction)), true)
  const { setsockopt } = libc()
  return setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, addressOf(program), program.byteLength) === 0
}

let opened: ReturnType<typeof load> | undefined

function libc() {
  opened ??= load()
  return opened
}

function load() {
  return openLibc({
    getsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'ptr'], returns: 'i32' },
    setsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'u32'], returns: 'i32' },
  })
}
