/** Ports for servers that a test starts, stops and starts again, and ports that nothing listens on. */
import { createSocket, type Socket } from 'node:dgram'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'

const LOWEST = 10_000
const FEWEST = 1000
/** From here on systems give ports to outgoing connections, unless they say otherwise. */
const EPHEMERAL = 32_768

const kept: Socket[] = []

/**
 * A port of 127.0.0.1 that nobody listens on. It lies outside of the range that the system gives to outgoing calls, one
 * of which would otherwise take the port while a service is away. As long as this process runs, others that ask for a
 * port do not get it either.
 */
export async function freePort(): Promise<number> {
  const end = firstEphemeral()
  for (;;) {
    const port = LOWEST + Math.floor(Math.random() * (end - LOWEST))
    const socket = await keep(port)
    if (!socket) continue
    kept.push(socket)
    if (await isFree(port)) return port
  }
}

function firstEphemeral(): number {
  const first = Number(readRange().split(/\s/)[0])
  return first >= LOWEST + FEWEST ? first : EPHEMERAL
}

function readRange(): string {
  try {
    return readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8')
  } catch {
    return String(EPHEMERAL)
  }
}

/** The UDP port of the same number stands for the TCP port, which it leaves free. Undefined when another has it. */
function keep(port: number): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4').once('error', () => resolve(undefined))
    socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve(socket.unref()))
  })
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
